#include "runtime/sources/indexed_places.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

struct section_names {
  const char* ends;
  const char* places;
};
constexpr std::array<section_names, num_place_kinds> place_sections{
    {{"row-ends", "rows"}, {"work-end", "work"}}};

} // namespace

std::optional<indexed_places> indexed_places::in(const index_sections& index, std::size_t count) {
  indexed_places x;
  for (std::size_t i = 0; i < place_sections.size(); ++i) {
    if (!index.has(place_sections[i].ends))
      continue;
    const auto ends = index.array<std::uint64_t>(place_sections[i].ends);
    auto places = index.at_use(place_sections[i].places);
    if (!ends || ends->size() != count || !std::is_sorted(ends->begin(), ends->end())
        || (ends->empty() ? 0 : ends->back()) != places.size())
      return {};
    x.parts_[i] = {*ends, std::move(places)};
  }
  return x;
}

void indexed_places::write(index_writer& to, const surveyed_places& places) {
  for (std::size_t i = 0; i < place_sections.size(); ++i)
    to.hold(place_sections[i].ends, ends_of(places.of_kind[i]));
  for (std::size_t i = 0; i < place_sections.size(); ++i)
    to.leave(place_sections[i].places, places.of_kind[i]);
}

std::size_t indexed_places::place_bytes(place_kind kind, std::uint64_t number) const noexcept {
  const auto& x = part_of(kind);
  return x.ends.empty() ? 0 : static_cast<std::size_t>(x.ends[number] - x.begin(number));
}

bool indexed_places::read_places(place_kind kind, std::uint64_t number,
                                 std::span<std::byte> into) const {
  const auto& x = part_of(kind);
  return !x.ends.empty() && x.bytes.read(x.begin(number), into);
}

} // namespace leat
