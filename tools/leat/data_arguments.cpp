#include "tools/leat/data_arguments.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/once.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/source.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/remote/remote_arguments.hpp"
#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <string_view>

namespace leat::command {

namespace {

constexpr std::string_view count_prefix = "count:";
constexpr std::size_t default_record_bytes = 8;

std::string text_of(data_kind x) {
  constexpr std::array names{
      "count",      "a folder",     "standard input",          "lines",
      "JSON lines", "NumPy arrays", "Megatron-LM's data sets", "packed tar archives",
      "tar shards"};
  return names.at(static_cast<std::size_t>(x));
}

data_kind common_kind(const std::vector<std::string>& arguments) {
  auto kind = kind_of(arguments.front());
  for (const auto& x : arguments)
    if (kind_of(x) != kind)
      refuse_argument("DATA",
                      "\"" + arguments.front() + "\" (" + text_of(kind) + ") and \"" + x + "\" ("
                          + text_of(kind_of(x)) + ")",
                      "data of one kind");
  const bool is_single =
      kind == data_kind::count || kind == data_kind::folder || kind == data_kind::standard_input;
  if (is_single && arguments.size() > 1)
    refuse_argument("DATA", std::to_string(arguments.size()) + " arguments",
                    "one folder, one count, one -, or any number of files");
  return kind;
}

pipeline parse_count(const std::string& argument) {
  auto parts = split(argument, ':');
  auto records = parse_number(parts[1]);
  auto bytes = parts.size() < 3 ? default_record_bytes : parse_number(parts[2]);
  if (parts.size() > 3 || !records || !bytes || *records == 0 || *bytes == 0)
    refuse_argument("DATA", "\"" + argument + "\"", "count:N or count:N:BYTES, each at least 1");
  return count(*records, *bytes);
}

} // namespace

void add_data_arguments(CLI::App& app, data_arguments& to) {
  app.add_option(
         "DATA", to.data,
         "A folder of class folders; tar shards: paths, braces (a-{000..099}.tar) and globs, in "
         "the order given; likewise files of lines (*.txt, *.jsonl), also as *.gz or *.zst, "
         "compressed tar archives (*.tar.gz), NumPy arrays (*.npy) and Megatron-LM's data sets "
         "(*.idx); count:N[:BYTES]; or -: the lines of standard input")
      ->expected(1, -1);
  app.add_option(
         "--index-dir", to.index_dir,
         "Keep the indexes of DATA in this directory; or look for them in this directory on "
         "a server, or in this manifest (*.leat-manifest)")
      ->type_name("PLACE");
  app.add_flag("--allow-torn", to.allow_torn, "Use the complete samples before a tear in a shard");
  whole_number(
      app.add_option("--ranges", to.ranges,
                     "Cut each file of lines into N parts, so that N times as many lanes can read"),
      1);
  add_remote_options(app, to.remote);
}

data_kind kind_of(const std::string& argument) {
  if (argument.starts_with(count_prefix))
    return data_kind::count;
  if (argument == "-")
    return data_kind::standard_input;
  std::error_code ignored;
  const bool is_far_folder = !scheme_of(argument).empty() && argument.ends_with('/');
  if (is_far_folder || std::filesystem::is_directory(argument, ignored))
    return data_kind::folder;
  switch (reading_of(argument)) {
  case reading::lines:
    return data_kind::lines;
  case reading::json_lines:
    return data_kind::json_lines;
  case reading::tar_stream:
    return data_kind::tar_stream;
  case reading::npy:
    return data_kind::npy;
  case reading::megatron:
    return data_kind::megatron;
  case reading::tar_shards:
  case reading::unknown:
    break;
  }
  return data_kind::tar;
}

namespace {

/// With the options for servers still to come.
pipeline source_of(const data_arguments& x) {
  if (x.data.empty())
    refuse_argument("DATA", "nothing", "data, or --pipeline FILE for subcommands that have it");
  const auto kind = common_kind(x.data);
  const bool has_lines = kind == data_kind::lines || kind == data_kind::json_lines;
  if (x.ranges != 1 && !has_lines)
    refuse_argument("--ranges", std::to_string(x.ranges) + ", and " + text_of(kind),
                    "files of lines: *.txt or *.jsonl");
  switch (kind) {
  case data_kind::count:
    return parse_count(x.data.front());
  case data_kind::folder:
    return image_folder(x.data.front(), {.index_dir = x.index_dir});
  case data_kind::standard_input:
    return standard_input();
  case data_kind::lines:
    return lines(x.data, {.ranges = x.ranges});
  case data_kind::json_lines:
    return json_lines(x.data, {.ranges = x.ranges});
  case data_kind::tar_stream:
    return tar_stream(x.data);
  case data_kind::npy:
    return npy(x.data);
  case data_kind::megatron:
    return megatron(x.data);
  case data_kind::tar:
    break;
  }
  return tar_shards(x.data, {.index_dir = x.index_dir, .allow_torn = x.allow_torn});
}

} // namespace

pipeline data_pipeline(const data_arguments& x) {
  return with_remote(source_of(x), x.remote);
}

bool is_sequential(const data_arguments& x) {
  const auto kind = kind_of(x.data.front());
  return kind == data_kind::standard_input || kind == data_kind::lines
         || kind == data_kind::json_lines || kind == data_kind::tar_stream;
}

bool holds_images(const data_arguments& x, const pipeline& data) {
  const auto kind = kind_of(x.data.front());
  if (kind == data_kind::folder)
    return true;
  sample first;
  if (kind == data_kind::tar_stream)
    open_unit(data)->next(first);
  else if (kind == data_kind::tar && data.size() > 0)
    indexed_sources(data).front()->read(0, first);
  return first.has("jpg") || first.has("jpeg");
}

} // namespace leat::command
