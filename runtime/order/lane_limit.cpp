#include "runtime/order/lane_limit.hpp"

#include "runtime/base/text.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat {

namespace {

/// A source, and the number of lanes that it can feed.
struct unit_supply {
  const operator_node* source;
  std::uint64_t units;
};

std::vector<unit_supply> lane_supplies(const operator_node& batch, std::uint64_t rows) {
  std::vector<unit_supply> found;
  for_each_operator(batch, [&](const operator_node& x) {
    if (x.is_source())
      found.push_back({&x, x.stream ? x.stream->get()->units() : rows});
  });
  return found;
}

/// `lines("corpus.txt")`
std::string call_text(const operator_node& source) {
  for (const auto& option : source.options) {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&option.value))
      return source.op + "(\"" + texts->front() + (texts->size() > 1 ? "\", ...)" : "\")");
    if (const auto* text = std::get_if<std::string>(&option.value))
      return source.op + "(\"" + *text + "\")";
  }
  return source.op + "()";
}

/// What gives the source more units.
std::string remedy_of(const operator_node& source) {
  const auto more_units = type_of(source).traits.more_units;
  return more_units ? more_units(source) : "spread its data over more files";
}

std::uint64_t largest_divisor(std::uint64_t n, std::uint64_t at_most) noexcept {
  auto divisor = std::clamp<std::uint64_t>(at_most, 1, n);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// The number of files that the lanes share, of which each needs one; nothing if the node deals no
/// files.
std::optional<std::uint64_t> files_for_lanes(const operator_node& x) {
  if (x.stream)
    return x.stream->get()->units();
  const auto files = type_of(x).traits.files_for_lanes;
  return files ? files(x) : std::nullopt;
}

} // namespace

std::uint64_t lanes_of(const operator_node& batch) {
  const auto rows = batch.get<std::uint64_t>("rows");
  if (const auto lanes = batch.get<std::uint64_t>("lanes"); lanes != 0)
    return lanes;
  auto files = rows;
  bool in_files = false;
  for_each_operator(batch, [&](const operator_node& x) {
    if (const auto has = files_for_lanes(x)) {
      in_files = true;
      files = std::min(files, *has);
    }
  });
  return in_files ? largest_divisor(rows, files) : rows;
}

std::optional<std::string> lane_limit(const operator_node& batch) {
  const auto rows = batch.get<std::uint64_t>("rows");
  if (batch.get<std::uint64_t>("lanes") != 0 || is_indexed(*batch.inputs.front()) || rows == 1)
    return std::nullopt;
  const auto supplies = lane_supplies(batch, rows);
  const auto by_units = [](const unit_supply& a, const unit_supply& b) {
    return a.units < b.units;
  };
  const auto least = std::min_element(supplies.begin(), supplies.end(), by_units);
  const auto most = std::max_element(supplies.begin(), supplies.end(), by_units);
  const auto lanes = lanes_of(batch);
  if (!least->source->stream || (lanes > 1 && least->units >= std::min(rows, most->units)))
    return std::nullopt;
  return call_text(*least->source) + " has " + counted(least->units, "unit") + ", so the job has "
         + counted(lanes, "lane")
         + (lanes == 1 ? ", and one rank only" : ", and a world size that divides them")
         + ". For more " + remedy_of(*least->source);
}

} // namespace leat
