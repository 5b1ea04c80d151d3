#pragma once

#include "runtime/base/error_in_flight.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace leat {

/// Goes from page to page of a folder's list, and gives up where a server's pages never end.
class page_turner {
public:
  /// A page has up to 1,000 names.
  static constexpr std::size_t most_pages = 100'000;

  /// `folder`: for errors.
  explicit page_turner(std::string folder) : folder_(std::move(folder)) {}

  /// The next page, as the one that was just asked for names it: empty after the last one. Throws
  /// `errc::io` for a page that names itself, and for too many.
  std::string turn(const std::string& asked, std::string next) {
    if (!next.empty() && next == asked)
      throw_file_error(errc::io, "list", folder_, "a page of a list that names itself as the next",
                       "a list that ends");
    if (!next.empty() && ++turned_ >= most_pages)
      throw_file_error(errc::io, "list", folder_,
                       "a list of more than " + std::to_string(most_pages) + " pages",
                       "a list that ends, or the files in several folders");
    return next;
  }

private:
  const std::string folder_;
  std::size_t turned_ = 0;
};

} // namespace leat
