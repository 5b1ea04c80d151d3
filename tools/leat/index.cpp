#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/row_index.hpp>
#include <leat/sources.hpp>

#include "tools/leat/bench/decode_ways.hpp"
#include "tools/leat/bench/spread.hpp"
#include "tools/leat/data_arguments.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/progress.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat::command {

namespace {

struct index_options {
  data_arguments data;
  /// A folder, or the name of a manifest; empty: indexes stay on this machine.
  std::string out = {};
  bool no_row_index = false;
  bool json = false;
};

/// What knowing the places of MCU rows is worth.
struct row_index_gain {
  /// Times faster: the usual random crop to 224 x 224, one thread, files in memory.
  double times = 1;
  std::size_t images = 0;
};

/// What to report about the row index.
struct row_index {
  row_index_facts facts;
  std::optional<row_index_gain> gain;
};

/// A progress bar on a terminal; shows nothing elsewhere.
class bar {
public:
  ~bar() {
    if (shown_)
      std::fputc('\n', stderr);
  }
  void show(std::uint64_t done, std::uint64_t all) {
    const auto percent = all == 0 ? 100 : 100 * done / all;
    if (::isatty(STDERR_FILENO) != 1 || (shown_ && percent == percent_))
      return;
    shown_ = true;
    percent_ = percent;
    constexpr std::size_t width = 40;
    std::fprintf(stderr, "\r%s %3d%%  %s of %s",
                 progress_bar(static_cast<double>(percent) / 100, width).c_str(),
                 static_cast<int>(percent), readable_bytes(done).c_str(),
                 readable_bytes(all).c_str());
    std::fflush(stderr);
  }

private:
  bool shown_ = false;
  std::uint64_t percent_ = 0;
};

/// Builds the row index if the data can hold JPEGs.
std::optional<row_index_facts> build_rows(const pipeline& data) {
  bar shown;
  return build_row_index(data,
                         [&](std::uint64_t done, std::uint64_t all) { shown.show(done, all); });
}

/// Measures that on images spread over the data; nothing where no image has a row index.
std::optional<row_index_gain> measure_gain(const source& data) {
  constexpr std::size_t most = 200;
  constexpr int rounds = 5;
  auto images = load_cases(data, decode_transform::train, most).images;
  images.erase(std::remove_if(images.begin(), images.end(), [](auto& x) { return !x.indexed; }),
               images.end());
  if (images.empty())
    return std::nullopt;
  const auto workers = make_workers(1);
  series without;
  series with;
  for (int i = 0; i < rounds; ++i) {
    without.push_back(decode_all(decode_way::own, images, {}, workers, 1));
    with.push_back(decode_all(decode_way::own_with_places, images, {}, workers, 1));
  }
  return row_index_gain{spread_of(ratios(without, with)).median, images.size()};
}

/// The gain is not measured on servers' data, of which images would have to be fetched again.
std::optional<row_index> row_index_of(const std::optional<row_index_facts>& facts,
                                      const pipeline& data, bool is_far) {
  if (!facts)
    return std::nullopt;
  return row_index{*facts, is_far ? std::nullopt : measure_gain(*indexed_sources(data).front())};
}

/// Bytes that an index keeps, in relation to those of the images.
double share_of(std::uint64_t bytes, const row_index_facts& x) {
  return x.image_bytes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(x.image_bytes);
}

std::string bytes_text(std::uint64_t bytes, const row_index_facts& x) {
  return with_commas(bytes) + " bytes (" + fixed(100 * share_of(bytes, x), 2) + "% of theirs)";
}

void print_row_index(const row_index& x) {
  const auto& facts = x.facts;
  print_line("rows     " + with_commas(facts.indexed) + " of " + with_commas(facts.images)
             + " JPEGs, " + bytes_text(facts.index_bytes, facts)
             + (facts.bytes_read == 0 ? ", already there" : ""));
  print_line("by work  " + bytes_text(facts.work_bytes, facts) + ", for decoding on a GPU"
             + (facts.completed > 0
                    ? "; added to " + with_commas(facts.completed) + " that had rows alone"
                    : ""));
  if (x.gain)
    print_line("gain     " + fixed(x.gain->times, 2) + "x in decoding random crops ("
               + with_commas(x.gain->images) + " images)");
}

/// Names of an image folder's classes, by number; none for other data.
std::vector<std::string> classes_of(const operator_facts& source, const remote_options& remote) {
  return source.op == "image_folder" ? class_names(source.get<std::string>("directory"), remote)
                                     : std::vector<std::string>{};
}

void print_classes(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  std::string text = with_commas(names.size()) + ":";
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += " " + std::to_string(i) + " " + names[i] + (i + 1 < names.size() ? "," : "");
  print_line("classes  " + text + (names.size() > most ? " ..." : ""));
}

void print_facts(const std::string& kind, bool is_counted, const source_facts& x, double seconds) {
  print_line("kind     " + kind);
  print_line("files    " + with_commas(x.files));
  print_line("records  " + (is_counted ? with_commas(x.records) : "unknown: read in sequence"));
  print_line("bytes    " + with_commas(x.bytes) + " (" + readable_bytes(x.bytes) + ")");
  print_line("digest   " + to_string(x.digest));
  print_line("opened in " + fixed(seconds, 3) + " s");
}

void print_passed_over(const std::vector<data_passed_over>& all) {
  for (const auto& x : all)
    print_line("passed over " + with_commas(x.count) + " " + x.what + ": " + x.first
               + (x.count > 1 ? ", ..." : ""));
}

nlohmann::json json_of(const std::vector<data_passed_over>& all) {
  auto list = nlohmann::json::array();
  for (const auto& x : all)
    list.push_back({{"why", x.why}, {"count", x.count}, {"first", as_utf8(x.first)}});
  return list;
}

void print_put(const put_index_facts& x) {
  print_line(
      "put      " + x.manifest + ", " + readable_bytes(x.manifest_bytes) + ": the indexes of "
      + with_commas(x.shards) + (x.shards == 1 ? " shard" : " shards")
      + (x.index_bytes > 0 ? "; and one object each, " + readable_bytes(x.index_bytes) : ""));
}

/// Fails if the index could not be stored: whoever asks for one wants it kept. Called after
/// everything else is printed.
void expect_stored(const std::optional<row_index>& x) {
  if (x && x->facts.not_stored > 0)
    throw_error(errc::io, "row index",
                "no writable place for that of " + with_commas(x->facts.not_stored)
                    + " shards or classes",
                "a writable directory: theirs, the user's cache, or --index-dir");
}

void index_data(const index_options& x) {
  const auto data = data_pipeline(x.data);
  if (is_once(data))
    refuse_argument("DATA", "standard input", "data that can be indexed");
  if (!x.out.empty())
    check_put_indexes(data, x.out);
  const auto row_facts = x.no_row_index ? std::nullopt : build_rows(data);
  const auto start = std::chrono::steady_clock::now();
  const auto source = operators_with_data(data);
  const auto facts = *source.data;
  const bool is_counted = !is_sequential(x.data);
  const auto seconds = in_seconds(std::chrono::steady_clock::now() - start);
  const auto others = passed_over_in(data);
  const auto rows = row_index_of(row_facts, data, facts.versions.are_known());
  const auto put = x.out.empty() ? std::nullopt : std::optional{put_indexes(data, x.out)};
  if (!x.json) {
    print_facts(source.op, is_counted, facts, seconds);
    if (const auto classes = classes_of(source, x.data.remote); !classes.empty())
      print_classes(classes);
    if (rows && rows->facts.images > 0)
      print_row_index(*rows);
    print_passed_over(others);
    if (put)
      print_put(*put);
    return expect_stored(rows);
  }
  nlohmann::json result{{"kind", source.op},
                        {"files", facts.files},
                        {"records", is_counted ? nlohmann::json(facts.records) : nlohmann::json()},
                        {"bytes", facts.bytes},
                        {"digest", to_string(facts.digest)},
                        {"passed_over", json_of(others)},
                        {"seconds", seconds}};
  if (const auto classes = classes_of(source, x.data.remote); !classes.empty())
    for (const auto& name : classes)
      result["classes"].push_back(as_utf8(name));
  if (rows) {
    result["images"] = rows->facts.images;
    result["images_indexed"] = rows->facts.indexed;
    result["row_index_bytes"] = rows->facts.index_bytes;
    result["row_index_share"] = share_of(rows->facts.index_bytes, rows->facts);
    result["work_places_bytes"] = rows->facts.work_bytes;
    result["row_index_completed"] = rows->facts.completed;
    result["row_index_not_stored"] = rows->facts.not_stored;
    if (rows->gain)
      result["row_index_gain"] = rows->gain->times;
  }
  if (put)
    result["put"] = {{"manifest", as_utf8(put->manifest)},
                     {"shards", put->shards},
                     {"manifest_bytes", put->manifest_bytes},
                     {"index_bytes", put->index_bytes}};
  print_line(result.dump());
  expect_stored(rows);
}

} // namespace

void add_index(CLI::App& app) {
  auto* sub = app.add_subcommand("index", "Build the indexes of the data, and print what it holds");
  auto x = std::make_shared<index_options>();
  add_data_arguments(*sub, x->data);
  sub->add_flag("--no-row-index", x->no_row_index,
                "Do not index the rows of JPEGs, for which all data is read");
  sub->add_option(
         "--out", x->out,
         "Also put the indexes of tar shards there, and a manifest of all of them, which "
         "jobs name by --index-dir: a directory, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, or "
         "the name of a manifest, *.leat-manifest")
      ->type_name("PLACE");
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { index_data(*x); });
}

} // namespace leat::command
