#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"

#include <leat/functions.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Only a forged snapshot has numbers beyond those that were counted.
[[noreturn]] void no_child(const char* stage, std::uint64_t number) {
  throw_error(errc::bad_snapshot, stage, "child " + std::to_string(number),
              "one of those that the sample has");
}

/// Part `number` of a text that is cut at each `at`.
std::string_view part_of(std::string_view text, char at, std::uint64_t number) {
  for (auto left = number; left > 0; --left) {
    const auto gap = text.find(at);
    if (gap == text.npos)
      no_child("split", number);
    text.remove_prefix(gap + 1);
  }
  return text.substr(0, text.find(at));
}

/// A field in pieces of `length` elements, of which each begins `overlap` before the last one's
/// end.
struct pieces {
  const char* stage;
  std::string field;
  std::uint64_t length;
  std::uint64_t overlap = 0;

  std::uint64_t step() const { return length - overlap; }
  /// None of them only repeats what the piece before it has.
  std::uint64_t count(std::uint64_t size) const {
    if (size <= length)
      return size == 0 ? 0 : 1;
    const auto rest = size - length;
    return 1 + rest / step() + (rest % step() == 0 ? 0 : 1);
  }
  void keep(sample& x, std::uint64_t number) const {
    const auto all = elements_of(x, field);
    if (number >= count(all.size()))
      no_child(stage, number);
    const auto begin = number * step();
    const auto piece = all.part(begin, std::min(length, all.size() - begin));
    const auto to = make_elements(x, field, piece, piece.size());
    std::copy(piece.data.begin(), piece.data.end(), to.begin());
  }
};

flat_map_function pick_pieces(const pieces& x) {
  return {.count = [x](sample& s) { return x.count(elements_of(s, x.field).size()); },
          .pick = [x](sample& s, std::uint64_t child) { x.keep(s, child); }};
}

} // namespace

flat_map_stage copies(std::uint64_t n) {
  const auto type = function_types::copies();
  return {.name = type.name,
          .parameters = parameters_of(type, n),
          .make = everywhere<flat_map_function>(
              {.count = [n](sample&) { return n; }, .pick = [](sample&, std::uint64_t) {}}),
          .children = n};
}

flat_map_stage split(const std::string& field, std::uint64_t at) {
  const auto type = function_types::split();
  const auto gap = static_cast<char>(at);
  auto count = [=](sample& x) {
    const auto text = x.text(field);
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), gap)) + 1;
  };
  auto pick = [=](sample& x, std::uint64_t child) {
    x.set(field, part_of(x.text(field), gap, child));
  };
  return {.name = type.name,
          .parameters = parameters_of(type, field, at),
          .make = everywhere<flat_map_function>({.count = count, .pick = pick})};
}

flat_map_stage windows(const std::string& field, std::uint64_t length) {
  const auto type = function_types::windows();
  return {.name = type.name,
          .parameters = parameters_of(type, field, length),
          .make = everywhere(pick_pieces({"windows", field, length}))};
}

flat_map_stage chunks(const std::string& field, std::uint64_t length, std::uint64_t overlap) {
  const auto type = function_types::chunks();
  auto text = parameters_of(type, field, length, overlap);
  if (overlap >= length)
    refuse_argument(type.name, "overlap=" + std::to_string(overlap),
                    "less than length=" + std::to_string(length));
  return {.name = type.name,
          .parameters = std::move(text),
          .make = everywhere(pick_pieces({"chunks", field, length, overlap}))};
}

} // namespace leat
