#pragma once

#include <leat/error.hpp>

#include <string>
#include <utility>

namespace leat {

/// Throws `errc::invalid_argument`.
[[noreturn]] inline void refuse_argument(std::string stage, std::string got, std::string needed) {
  throw error(errc::invalid_argument,
              {.stage = std::move(stage), .got = std::move(got), .needed = std::move(needed)});
}

} // namespace leat
