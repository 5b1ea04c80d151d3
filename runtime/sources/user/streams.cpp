#include "runtime/base/limits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/lines/json_fields.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/open_stream.hpp"
#include "runtime/sources/sequential_source.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"

#include <leat/error.hpp>
#include <leat/streams.hpp>

#include <utility>

namespace leat {

namespace {

std::string text_of(file_order x) {
  return x == file_order::shuffled ? "shuffled" : "stored";
}

void check_at_least_one(const std::string& stage, const std::string& option, std::uint64_t x) {
  if (x == 0)
    throw error(errc::invalid_argument,
                {.stage = stage, .got = option + " 0", .needed = "at least 1"});
}

pipeline lines_pipeline(const std::string& op, std::vector<std::string> patterns,
                        const line_options& options, line_parser parse) {
  check_at_least_one(op, "ranges", options.ranges);
  check_range(op + ".ranges", options.ranges, 1, max_ranges);
  return stream_pipeline(op,
                         {{"patterns", patterns},
                          {"ranges", options.ranges},
                          {"file_order", text_of(options.order)},
                          {"seed", options.seed}},
                         [=, ranges = options.ranges] {
                           return std::make_shared<const line_source>(op, patterns, ranges, parse);
                         });
}

} // namespace

std::shared_ptr<const stream_source> open_stream(file_format format, file_set files) {
  if (format == file_format::tar)
    return std::make_shared<const tar_stream_source>(std::move(files));
  const auto is_json = format == file_format::json_lines;
  return std::make_shared<const line_source>(is_json ? "json_lines" : "lines", std::move(files), 1,
                                             is_json ? set_json_fields : parse_text_line);
}

pipeline tar_stream(std::string pattern, stream_options options) {
  return tar_stream(std::vector{std::move(pattern)}, options);
}

pipeline tar_stream(std::vector<std::string> patterns, stream_options options) {
  return stream_pipeline(
      "tar_stream",
      {{"patterns", patterns}, {"file_order", text_of(options.order)}, {"seed", options.seed}},
      [=] { return std::make_shared<const tar_stream_source>(patterns); });
}

pipeline lines(std::string pattern, line_options options) {
  return lines(std::vector{std::move(pattern)}, options);
}

pipeline lines(std::vector<std::string> patterns, line_options options) {
  return lines_pipeline("lines", std::move(patterns), options, parse_text_line);
}

pipeline json_lines(std::string pattern, line_options options) {
  return json_lines(std::vector{std::move(pattern)}, options);
}

pipeline json_lines(std::vector<std::string> patterns, line_options options) {
  return lines_pipeline("json_lines", std::move(patterns), options, set_json_fields);
}

sequential_reader::~sequential_reader() = default;

std::optional<std::string> sequential_reader::save() const {
  return {};
}

void sequential_reader::load(const std::string&) {
  throw error(
      errc::invalid_argument,
      {.stage = "sequential", .got = "a state to load", .needed = "a reader with save and load"});
}

pipeline sequential(std::string name, std::uint64_t units,
                    std::function<std::unique_ptr<sequential_reader>(std::uint64_t)> open,
                    stream_options options) {
  check_at_least_one(name, "units", units);
  return stream_pipeline("sequential",
                         {{"name", name},
                          {"units", units},
                          {"file_order", text_of(options.order)},
                          {"seed", options.seed}},
                         [=, open = std::move(open)] {
                           return std::make_shared<const sequential_source>(name, units, open);
                         });
}

} // namespace leat
