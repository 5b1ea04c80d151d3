#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/stream_reading.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::test {

/// Opens a unit at the place after every record, and expects the same records as when reading on;
/// and reads every record once more as if from a snapshot.
inline void check_every_place(const stream_source& from, std::uint64_t unit) {
  std::vector<stream_record> records;
  std::vector<stream_place> places;
  const auto reader = from.open(unit, {});
  places.push_back(reader->place());
  for (stream_record x; reader->next(x);) {
    records.push_back(x);
    places.push_back(reader->place());
  }
  stream_record end;
  CHECK(!reader->next(end));
  CHECK(!from.open(unit, reader->place())->next(end));
  sample into;
  for (std::size_t k = 0; k < places.size(); ++k) {
    CAPTURE(unit, k);
    const auto again = from.open(unit, places[k]);
    CHECK(again->place() == places[k]);
    stream_record x;
    for (auto i = k; i < records.size(); ++i) {
      REQUIRE(again->next(x));
      REQUIRE(same_record(x, records[i]));
      REQUIRE(again->place() == places[i + 1]);
      if (i == k) // once per record; the others have been read from other places
        REQUIRE(read_record(from, x, into) == read_record(from, records[i]));
    }
    REQUIRE(!again->next(x));
  }
  for (auto i = records.size(); i-- > 0;)
    REQUIRE(read_record(from, without_content(records[i]), into) == read_record(from, records[i]));
}

inline void check_every_place(const stream_source& from) {
  for (std::uint64_t unit = 0; unit < from.units(); ++unit)
    check_every_place(from, unit);
}

} // namespace leat::test
