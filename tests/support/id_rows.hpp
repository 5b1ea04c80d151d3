#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

#include <leat/loader.hpp>

namespace leat {

/// Ids of rows by the step of the job and position.
using id_rows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>;

/// Adds the rows of a batch, which must not be there yet.
inline void keep(id_rows& to, const batch& from) {
  const auto ids = from.ids();
  const auto positions = from.positions();
  REQUIRE(ids.size() == positions.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    REQUIRE(to.emplace(std::pair{from.global_step(), positions[i]}, ids[i]).second);
}

/// Adds all that a loader hands over.
inline void keep_rest(id_rows& to, loader& from) {
  while (const auto x = from.next())
    keep(to, *x);
}

} // namespace leat
