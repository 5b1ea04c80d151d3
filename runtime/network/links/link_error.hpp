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

} // namespace leat
