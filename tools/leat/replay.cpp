#include "runtime/base/error_in_flight.hpp"

#include <leat/loader.hpp>

#include "tools/leat/batch_lines.hpp"
#include "tools/leat/job_options.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/leat/tokenize/row_texts.hpp"
#include "tools/leat/verify/log_line.hpp"
#include "tools/made_data/png_writer.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace leat::command {

namespace {

struct replay_options {
  order_options order;
  std::uint64_t step = 0;
  std::optional<transform> maps;
  std::vector<std::string> weights = {};
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  std::string images;
  std::string sheet;
  /// The texts of tokens are shown.
  bool text = false;
  tokenizer_choice by = {};
  bool json = false;
};

batch_line line_at(const replay_options& x) {
  auto due =
      due_batches(job_pipeline(x.order, transform::none), {.epoch = x.order.epoch,
                                                           .step = x.step,
                                                           .weights = weight_changes_of(x.weights),
                                                           .bad_samples = x.bad_samples});
  if (const auto steps = due.epoch().batches; steps && x.step >= *steps)
    refuse_argument("--step", std::to_string(x.step),
                    "below " + std::to_string(*steps) + ", the steps of the epoch");
  auto batch = due.next();
  if (!batch)
    refuse_argument("--step", std::to_string(x.step), "a step of the epoch, which has fewer");
  return line_of(std::move(*batch));
}

/// Makes the step's batch as a job of one rank would.
lease deliver(const replay_options& x, const pipeline& job) {
  loader_options settings{.workers = std::max(1U, std::thread::hardware_concurrency()),
                          .epochs = x.order.epoch + 1,
                          .prefetch = 1,
                          .bad_samples = x.bad_samples};
  loader loader{job, settings};
  for (const auto& change : weight_changes_of(x.weights))
    loader.set_weights(change.weights, change.step);
  loader.seek(x.order.epoch, x.step);
  return loader.next();
}

/// Writes one image per valid row, named by its position. Returns the files' names.
std::vector<std::string> write_images(const batch& x, const std::string& directory) {
  std::filesystem::create_directories(directory);
  auto images = x.view<std::uint8_t, 4>("image");
  auto positions = x.positions();
  std::vector<std::string> files;
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (x.valid()[row] == 0)
      continue;
    auto file = directory + "/" + std::to_string(positions[files.size()]) + ".png";
    write_png(file, images.extent(2), images.extent(1), images[row].flat());
    files.push_back(file);
  }
  return files;
}

/// Writes all images as one, side by side in reading order, eight in a row: a whole batch at a
/// glance.
void write_sheet(const batch& x, const std::string& file) {
  constexpr std::size_t columns = 8;
  constexpr std::size_t gap = 2;
  constexpr std::uint8_t grey = 128;
  const auto images = x.view<std::uint8_t, 4>("image");
  std::vector<rgb_image> valid;
  for (std::size_t row = 0; row < x.size(); ++row)
    if (x.valid()[row] != 0) {
      const auto pixels = images[row].flat();
      valid.emplace_back(images.extent(2), images.extent(1));
      std::copy(pixels.begin(), pixels.end(), valid.back().pixels.begin());
    }
  write_png(file,
            contact_sheet(valid, std::clamp<std::size_t>(valid.size(), 1, columns), gap, grey));
}

/// The step's rows as its trainer got them, the files of their images, and what their tokens say.
struct replayed {
  batch_line rows;
  std::vector<std::string> images = {};
  std::vector<std::string> texts = {};
};

replayed replay_step(const replay_options& x) {
  auto line = line_at(x);
  const bool shows_images = !x.images.empty() || !x.sheet.empty();
  if (!shows_images && !x.text)
    return {std::move(line)};
  const auto job = job_pipeline(x.order, x.maps, pixel_form::viewable);
  if (shows_images && !makes_images(job))
    refuse_argument(x.images.empty() ? "--sheet" : "--images", "records without a transform",
                    "images and --transform train224 or eval224");
  std::optional<row_texts> texts;
  if (x.text)
    texts.emplace(job, x.by);
  auto batch = deliver(x, job);
  replayed result{line_of(*batch)};
  if (texts)
    result.texts = texts->of(*batch);
  if (!x.images.empty())
    result.images = write_images(*batch, x.images);
  if (!x.sheet.empty())
    write_sheet(*batch, x.sheet);
  result.rows.rank.reset();
  return result;
}

/// In JSON's quotes, so that no text can give orders to a terminal.
std::string quoted_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_rows(const batch_line& x) {
  print_line("epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step) + ": "
             + with_commas(x.ids.size()) + " rows, digest " + to_string(x.digest));
  for (std::size_t i = 0; i < x.ids.size(); ++i)
    print_line(std::to_string(x.positions[i]) + "  " + x.ids[i]);
  for (const auto& bad : x.bad)
    print_line("bad: " + std::to_string(bad.position) + "  " + bad.id + " (" + bad.cause + "), "
               + (bad.substitute ? "substituted by " + *bad.substitute : "masked"));
}

void replay(const replay_options& x) {
  auto found = replay_step(x);
  if (!x.json) {
    print_rows(found.rows);
    if (!x.images.empty())
      print_line(with_commas(found.images.size()) + " images in " + x.images);
    if (!x.sheet.empty())
      print_line("one sheet of them: " + x.sheet);
    for (const auto& text : found.texts)
      print_line(quoted_text(text));
    return;
  }
  auto line = nlohmann::json::parse(to_json(found.rows));
  line["images"] = found.images;
  if (x.text)
    line["texts"] = found.texts;
  print_line(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace

void add_replay(CLI::App& app) {
  auto* sub = app.add_subcommand("replay", "Show the rows of one step, and their images or texts");
  auto x = std::make_shared<replay_options>();
  add_order_options(*sub, x->order);
  whole_number(sub->add_option("--step", x->step, "Step of the epoch"), 0)->required();
  add_transform_option(*sub, x->maps);
  add_weights_option(*sub, x->weights);
  add_bad_sample_option(*sub, x->bad_samples);
  sub->add_option("--images", x->images,
                  "Write DIR/POSITION.png: the images as the trainer got them, before normalize")
      ->type_name("DIR");
  sub->add_option("--sheet", x->sheet, "Write the same images into one PNG, eight in a row")
      ->type_name("FILE");
  sub->add_flag("--text", x->text, "Show what the tokens say, one line for each row");
  add_tokenizer_choice(*sub, x->by, false);
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { replay(*x); });
}

} // namespace leat::command
