#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Why an entry of stored data is not part of any record. The numbers are stored in index files.
enum class passed_over_reason : std::uint8_t {
  /// See is_hidden_entry. Counted, but not reported by a notice: such entries are meant to be
  /// ignored.
  hidden = 0,
  hard_link = 1,
  symbolic_link = 2,
  /// A device, a pipe, or a vendor-specific entry.
  special = 3,
  /// A member of an archive whose name has no key or no field.
  nameless = 4,
  /// An archive continues after its end mark.
  rest = 5,
  lost_link = 6,
  folder_link = 7,
  /// A folder that a pattern matches.
  folder = 8,
  other_ending = 9,
  /// A file next to class folders.
  outside = 10,
  empty_class = 11,
};

/// How many entries are passed over for one reason, and the first of them.
struct passed_over_entry {
  passed_over_reason why = passed_over_reason::hidden;
  std::uint64_t count = 0;
  std::string first = {};

  friend bool operator==(const passed_over_entry&, const passed_over_entry&) = default;
};

/// What a source passes over in its data, by reason.
class passed_over {
public:
  void add(passed_over_reason why, std::string name);
  /// For entries that come in any order: keeps the bytewise smallest name as the first.
  void add_by_name(passed_over_reason why, std::string name);
  /// Adds what is passed over in a part of the data; the names of its entries get this prefix.
  void add(const passed_over& part, const std::string& prefix);

  /// In the order of the reasons.
  const std::vector<passed_over_entry>& entries() const noexcept { return entries_; }

  /// "passed over 1 hard link (a.tar: b.jpg), 2 links to folders (cat/x, ...)"; empty if there is
  /// nothing to report.
  std::string notice_text() const;

  /// For an index file.
  std::string encoded() const;
  /// Nothing for bytes that `encoded` did not make.
  static std::optional<passed_over> decoded(std::string_view bytes);

  friend bool operator==(const passed_over&, const passed_over&) = default;

private:
  passed_over_entry& entry(passed_over_reason why);

  std::vector<passed_over_entry> entries_;
};

/// The name in JSON: "hard_link".
std::string_view word_of(passed_over_reason why);
/// What entries of a reason are called: "hard links"; in the singular for 1.
std::string name_of(passed_over_reason why, std::uint64_t count);

/// Sends the notice, if there is something to report.
void tell(const passed_over& x);

/// A source that knows what it passes over when it is opened.
class passing_over : not_copied {
public:
  virtual ~passing_over() = default;

  virtual const passed_over& what_is_passed_over() const = 0;
};

/// What any source passes over; empty for one that is not a `passing_over`.
template <class Source>
passed_over passed_over_by(const Source& x) {
  const auto* knows = dynamic_cast<const passing_over*>(&x);
  return knows ? knows->what_is_passed_over() : passed_over{};
}

} // namespace leat
