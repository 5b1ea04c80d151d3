#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Records that are numbered through all files of a source.
class records_in_files {
public:
  struct place {
    std::size_t file = 0;
    /// Number of the record in its file.
    std::uint64_t record = 0;
  };

  /// `names` are those of the files in ids.
  explicit records_in_files(std::vector<std::string> names) : names_(std::move(names)) {}

  /// Appends the records of the next file. Throws `errc::invalid_argument`, with this `stage`, if
  /// there are more than 2^62 in all, which only sparse files can have.
  void add(std::uint64_t records, const std::string& stage) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    if (records > most - size())
      throw_file_error(errc::invalid_argument, stage, names_[first_.size() - 1],
                       "more than 2^62 records up to this file", "fewer, or smaller, files");
    first_.push_back(first_.back() + records);
  }

  std::uint64_t size() const noexcept { return first_.back(); }
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// The records of each file.
  std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> result;
    for (std::size_t i = 1; i < first_.size(); ++i)
      result.push_back(first_[i] - first_[i - 1]);
    return result;
  }

  std::uint64_t count_of(std::size_t file) const { return first_[file + 1] - first_[file]; }

  /// Where a record is, which exists.
  place place_of(std::uint64_t record) const {
    // The last file that begins at or before the record: empty files begin where the next does.
    const auto behind = std::upper_bound(first_.begin(), first_.end(), record);
    const auto file = static_cast<std::size_t>(behind - first_.begin()) - 1;
    return {file, record - first_[file]};
  }

  /// Appends "FILE/NUMBER".
  void append_id(std::uint64_t record, std::string& to) const {
    const auto at = place_of(record);
    to += names_[at.file];
    to += '/';
    to += number_text(at.record);
  }

private:
  std::vector<std::string> names_;
  /// Records before each file, and the total after them.
  std::vector<std::uint64_t> first_{0};
};

} // namespace leat
