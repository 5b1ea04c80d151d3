#pragma once

#include "runtime/storage/remote/range_fetcher.hpp"
#include "runtime/storage/remote/remote_object.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace leat {

/// What a service answered that is no object with ranges: a list, facts.
struct whole_answer {
  std::string body = {};
  /// Where the next page is, by a header Link with rel="next"; empty: there is none.
  std::string next = {};
};

/// Asks, and waits for all of the answer, of at most so many bytes. Throws the failure.
whole_answer ask_whole(range_fetcher& by, std::shared_ptr<remote_object> asked, std::size_t most);

} // namespace leat
