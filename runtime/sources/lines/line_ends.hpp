#pragma once

#include "runtime/storage/object_store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace leat {

/// Where a line ends, and whether it may say nothing.
struct found_line_end {
  std::uint64_t at = 0;
  /// This line begins with white space, or with its end, or it is not known how it begins.
  bool may_be_blank = true;
};

/// Where the lines of a plain file end, found without reading them where the store can do that: for
/// records that are read again anyway. One thread.
class line_ends {
public:
  /// `objects` must outlive it.
  line_ends(stored_objects& objects, std::size_t file) : objects_(objects), file_(file) {}

  /// The first "\n" at or after `at`, which is not below that of the last call. If there is none in
  /// the next `most` bytes, some place after them. Nothing: read it.
  std::optional<found_line_end> next(std::uint64_t at, std::uint64_t most);

private:
  std::optional<std::uint64_t> place(std::uint64_t at, std::uint64_t most);
  /// Looks further. False if the store cannot.
  bool search(std::uint64_t from);

  stored_objects& objects_;
  std::size_t file_;
  /// Those found in the last search.
  std::array<std::uint64_t, 128> places_;
  /// The byte after each of them.
  std::array<std::byte, 128> following_;
  std::size_t found_ = 0;
  std::size_t used_ = 0;
  std::uint64_t searched_to_ = 0;
  /// How the line there begins; a line feed says nothing.
  std::uint64_t known_place_ = 0;
  std::byte known_byte_{'\n'};
  /// The store is not asked again before this place.
  std::uint64_t not_before_ = 0;
};

} // namespace leat
