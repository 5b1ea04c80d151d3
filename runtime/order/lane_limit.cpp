#include "runtime/order/lane_limit.hpp"

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/stream_files.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat {

namespace {

/// A source, and how many lanes it can feed.
struct lane_supply {
  const operator_node* source;
  std::uint64_t units;
};

std::vector<lane_supply> lane_supplies(const operator_node& batch, std::uint64_t rows) {
  std::vector<lane_supply> found;
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
  if (source.op == "sequential")
    return "give it more units (units=N)";
  if (source.op != "lines" && source.op != "json_lines")
    return "spread its data over more files";
  const auto& patterns = source.get<std::vector<std::string>>("patterns");
  const std::string ranges = "ranges=N (`leat run DATA`: --ranges N)";
  return std::any_of(patterns.begin(), patterns.end(),
                     [](const auto& x) { return packing_of(x) != packing::none; })
             ? "spread its lines over more files, or unpack it and write " + ranges
             : "write " + ranges;
}

std::string units_text(std::uint64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

} // namespace

std::optional<std::string> lane_limit(const operator_node& batch) {
  const auto rows = batch.get<std::uint64_t>("rows");
  if (batch.get<std::uint64_t>("lanes") != 0 || is_indexed(*batch.inputs.front()) || rows == 1)
    return std::nullopt;
  const auto supplies = lane_supplies(batch, rows);
  const auto by_units = [](const lane_supply& a, const lane_supply& b) {
    return a.units < b.units;
  };
  const auto least = std::min_element(supplies.begin(), supplies.end(), by_units);
  const auto most = std::max_element(supplies.begin(), supplies.end(), by_units);
  const auto lanes = lanes_of(batch);
  if (!least->source->stream || (lanes > 1 && least->units >= std::min(rows, most->units)))
    return std::nullopt;
  return call_text(*least->source) + " has " + units_text(least->units, "unit")
         + ", so the job has " + units_text(lanes, "lane")
         + (lanes == 1 ? ", and one rank only" : ", and a world size that divides them")
         + ". For more " + remedy_of(*least->source);
}

} // namespace leat
