#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/lines/line_format.hpp"
#include "runtime/sources/lines/line_reader.hpp"
#include "runtime/sources/stream_opener.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// The lines of text files. A unit is a file, or one of `ranges` parts of it.
class line_source final : public stream_source, public passing_over {
public:
  /// Files that are read sequentially. Throws as `find_files` does; `errc::invalid_argument` if a
  /// file cannot be cut.
  line_source(const std::string& name, const std::vector<std::string>& patterns,
              std::uint64_t ranges, line_format format);
  /// Throws `errc::not_found`, `errc::io`; `errc::invalid_argument` if a file cannot be cut.
  line_source(std::string name, file_set files, std::uint64_t ranges, line_format format,
              read_pattern pattern = read_pattern::normal);

  std::uint64_t units() const override { return opener_.files().size() * ranges_; }
  using stream_source::open;
  std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from,
                                    const reader_options& options) const override;
  bool is_unpacked(std::uint64_t unit) const override {
    return opener_.is_unpacked(unit / ranges_);
  }
  stored_objects* locate(const stream_record& record, std::vector<extent>& into) const override;
  void read(const stream_record& record, sample& into) const override;
  payload_ptr read_content(const stream_record& record, const std::stop_token& stop) const override;
  void append_id(const stream_record& record, std::string& to) const override;
  source_facts facts() const override { return opener_.files().facts(); }
  std::string name() const override { return name_; }
  std::string file_of_unit(std::uint64_t unit) const override {
    return opener_.files().path(static_cast<std::size_t>(unit / ranges_));
  }
  const passed_over& what_is_passed_over() const override { return opener_.files().others(); }
  std::size_t cheap_again() const override { return is_near_ ? largest_cheap : 0; }

private:
  /// Longer lines take as long to find and parse again as it takes to keep them for a while.
  static constexpr std::size_t largest_cheap = 1024;

  void check(const stream_record& record) const;
  /// Short lines of plain files, with those near them; false if it is to be read alone.
  bool read_with_others(const stream_record& record, std::span<std::byte> bytes,
                        const sample& into) const;
  line_range part(std::uint64_t unit) const;

  std::string name_;
  std::uint64_t ranges_;
  line_format format_;
  stream_opener opener_;
  /// All files are on this machine and not compressed.
  bool is_near_ = false;
};

} // namespace leat
