#include "runtime/base/limits.hpp"
#include "runtime/sources/file_orders.hpp"
#include "runtime/sources/lines/line_format.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/storage/stream_files.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

pipeline lines_pipeline(const std::string& op, std::vector<std::string> patterns,
                        const line_options& options, const line_format& format,
                        std::vector<std::string> types = {}) {
  check_at_least_one(op, "ranges", options.ranges);
  check_range(op + ".ranges", options.ranges, 1, max_ranges);
  std::vector<node_option> stated{{"patterns", patterns},
                                  {"ranges", options.ranges},
                                  {"file_order", word_of(options.order, file_orders)},
                                  {"seed", options.seed}};
  if (!types.empty())
    stated.push_back({"types", std::move(types)});
  return stream_pipeline(
      op, std::move(stated),
      [=, ranges = options.ranges](const store_set& in) {
        return std::make_shared<const line_source>(
            op, find_files(patterns, op, file_kinds::with_pipes, in), ranges, format,
            read_pattern::sequential);
      },
      options.remote);
}

std::string more_ranges(const operator_node& source) {
  const auto& patterns = source.get<std::vector<std::string>>("patterns");
  const std::string ranges = "ranges=N";
  return std::any_of(patterns.begin(), patterns.end(),
                     [](const auto& x) { return packing_of(x) != packing::none; })
             ? "spread its lines over more files, or decompress it and write " + ranges
             : "write " + ranges;
}

std::vector<operator_option> line_source_options() {
  return with_file_order({in_facts(plain("patterns", option_type::listed_texts)),
                          {"ranges", option_type::number, std::uint64_t{1}}});
}

std::vector<operator_option> json_line_options() {
  auto options = line_source_options();
  options.push_back(later({"types", option_type::texts, std::vector<std::string>{}}));
  return options;
}

pipeline make_lines(const operator_node& call, const std::vector<pipeline>&) {
  const auto how = stream_options_of(call);
  return lines(call.get<std::vector<std::string>>("patterns"),
               {.ranges = call.get<std::uint64_t>("ranges"), .order = how.order, .seed = how.seed});
}

pipeline make_json_lines(const operator_node& call, const std::vector<pipeline>&) {
  const auto how = stream_options_of(call);
  return json_lines(call.get<std::vector<std::string>>("patterns"),
                    {.ranges = call.get<std::uint64_t>("ranges"),
                     .order = how.order,
                     .seed = how.seed,
                     .types = json_types_in(call.get<std::vector<std::string>>("types"))});
}

} // namespace

pipeline lines(std::string pattern, line_options options) {
  return lines(std::vector{std::move(pattern)}, std::move(options));
}

// As all sources take their options.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
pipeline lines(std::vector<std::string> patterns, line_options options) {
  if (!options.types.empty())
    refuse_argument("lines.types", "types of fields", "json_lines: lines have one field, a text");
  return lines_pipeline("lines", std::move(patterns), options, text_lines());
}

pipeline json_lines(std::string pattern, line_options options) {
  return json_lines(std::vector{std::move(pattern)}, std::move(options));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
pipeline json_lines(std::vector<std::string> patterns, line_options options) {
  const json_types types{options.types};
  return lines_pipeline("json_lines", std::move(patterns), options, json_object_lines(types),
                        types.texts());
}

operator_type lines_operator() {
  return {.word = "lines",
          .role = operator_role::source,
          .options = line_source_options(),
          .make = make_lines,
          .traits = {.more_units = more_ranges, .only_field = "text"},
          .forms = {.state_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts&) {
            return sizes_of_stream(x, 1, 1);
          }}};
}

operator_type json_lines_operator() {
  return {.word = "json_lines",
          .role = operator_role::source,
          .options = json_line_options(),
          .make = make_json_lines,
          .traits = {.more_units = more_ranges},
          .forms = {.state_version = 1, .reading_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts&) {
            return sizes_of_stream(x, 1, 1);
          }}};
}

} // namespace leat
