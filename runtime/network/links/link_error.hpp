#pragma once

#include <leat/error.hpp>

#include <string>
#include <utility>

namespace leat {

/// A connection that cannot go on: its peer has ended it, or does not keep to the rules. Nobody
/// else's connection is concerned.
[[noreturn]] inline void break_link(std::string got, std::string needed) {
  throw error(errc::cluster, {.stage = "link", .got = std::move(got), .needed = std::move(needed)});
}

/// Its peer has ended it, without a word why.
class link_ended : public error {
public:
  explicit link_ended(std::string got)
      : error(errc::cluster,
              {.stage = "link", .got = std::move(got), .needed = "a connection that lasts"}) {}
};

} // namespace leat
