#include "tools/leat/job_options.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/image.hpp>
#include <leat/pipeline_facts.hpp>

#include "tools/leat/bench/plain_image.hpp"
#include "tools/leat/option_values.hpp"
#include <CLI/CLI.hpp>

#include <charconv>
#include <map>
#include <vector>

namespace leat::command {

namespace {

constexpr std::size_t default_image_size = 224;
constexpr std::uint64_t max_pipeline_bytes = std::uint64_t{64} << 20;
constexpr auto image_field = "jpg;jpeg";

/// Adds an option whose value is one of a few names; the help shows `standard` as its default.
template <class T, class Value>
void add_choice(CLI::App& app, const char* name, T& to, const std::map<std::string, Value>& values,
                const char* standard, const char* text) {
  std::string names;
  for (const auto& [key, value] : values)
    names += (names.empty() ? "" : "|") + key;
  auto choose = [&to, values, name, names](const std::string& given) {
    auto found = values.find(given);
    if (found == values.end())
      throw CLI::ValidationError(name, "got \"" + given + "\", needed " + names);
    to = found->second;
  };
  app.add_option_function<std::string>(name, choose, text)->type_name(names)->default_str(standard);
}

image_options image_form(pixel_form form) {
  image_options result{.size = default_image_size};
  if (form == pixel_form::viewable) {
    result.type = dtype::u8;
    result.layout = image_layout::nhwc;
  }
  return result;
}

/// Adds --pipeline, which replaces DATA and all other options that make up a pipeline.
void add_pipeline_option(CLI::App& app, order_options& to) {
  auto* file = app.add_option("--pipeline", to.pipeline_file,
                              "A pipeline in text form, in place of DATA and its options")
                   ->type_name("FILE");
  for (const auto* name : {"DATA", "--index-dir", "--allow-torn", "--seed", "--global-batch",
                           "--lanes", "--shuffle", "--window", "--ranges"})
    file->excludes(app.get_option(name));
}

/// Data that is read sequentially in its stored order, with the seed from which its maps draw.
pipeline in_sequence(const pipeline& data, const order_options& x, transform maps) {
  if (x.seed == 0)
    return data;
  // A mix of one input leaves the order as it is and carries the seed. Where no map draws, a seed
  // is accepted and has no effect.
  if (maps == transform::train224)
    return mix({data}, {.rule = mix_rule::random, .seed = x.seed});
  return data;
}

/// The data in the order that the options ask for.
pipeline ordered(const pipeline& data, const order_options& x, transform maps) {
  const bool in_order = is_sequential(x.data);
  const auto kind = x.shuffle.value_or(in_order ? shuffle_kind::none : shuffle_kind::full);
  if (in_order && kind != shuffle_kind::none)
    refuse_argument("--shuffle", "data that is read in sequence",
                    "none; or a pipeline with shuffle_buffer (--pipeline)");
  return in_order ? in_sequence(data, x, maps)
                  : data.shuffle({.seed = x.seed,
                                  .kind = kind,
                                  .window = x.window.value_or(shuffle_options{}.window)});
}

/// The default of --end for DATA: drop for files that are read in sequence; otherwise the library's
/// choice, which is mask for standard input, whose last rows someone may wait for.
epoch_end usual_end(const data_arguments& x) {
  return is_sequential(x) && kind_of(x.data.front()) != data_kind::standard_input
             ? epoch_end::drop
             : epoch_end::automatic;
}

pipeline pipeline_of_file(const order_options& x, std::optional<transform> chosen) {
  if (chosen && *chosen != transform::none)
    refuse_argument("--transform", "--pipeline", "maps in the pipeline's text");
  return with_remote(
      parse_pipeline(read_whole_file(x.pipeline_file, max_pipeline_bytes, "--pipeline")),
      x.data.remote);
}

/// True if a map of the pipeline has the name and parameters of one of these.
bool has_any(const pipeline& job, const std::vector<map_stage>& maps) {
  bool found = false;
  for_each_operator(operators_of(job), [&](const operator_facts& x) {
    for (const auto& map : maps)
      found = found
              || (is_map(x) && x.get<std::string>("name") == map.name
                  && x.get<std::string>("parameters") == map.parameters);
  });
  return found;
}

/// The pipeline that the options describe, without --end and --journal.
pipeline described_pipeline(const order_options& x, std::optional<transform> chosen,
                            pixel_form form);

transform choose_transform(std::optional<transform> chosen, const data_arguments& x,
                           const pipeline& data) {
  if (chosen)
    return *chosen;
  return holds_images(x, data) ? transform::train224 : transform::none;
}

} // namespace

void add_order_options(CLI::App& app, order_options& to) {
  add_data_arguments(app, to.data);
  app.option_defaults()->always_capture_default();
  whole_number(app.add_option("--seed", to.seed, "Seed of order and augmentation"), 0);
  whole_number(app.add_option("--epoch", to.epoch, "Epoch to begin with"), 0, max_epochs);
  whole_number(
      app.add_option("--global-batch", to.global_batch, "Rows of a batch over all ranks (G)"), 1);
  whole_number(app.add_option("--lanes", to.lanes,
                              "Lanes (L), a divisor of G; 0: G, or fewer if there are fewer files "
                              "(windowed)"),
               0);
  add_choice(app, "--shuffle", to.shuffle,
             std::map<std::string, shuffle_kind>{{"full", shuffle_kind::full},
                                                 {"windowed", shuffle_kind::windowed},
                                                 {"none", shuffle_kind::none}},
             "full; none for data that is read in sequence", "Order of the epoch");
  whole_number(app.add_option("--window", to.window, "Files shuffled with each other (windowed)"),
               1)
      ->default_str("4");
  add_choice(
      app, "--end", to.end,
      std::map<std::string, epoch_end>{{"auto", epoch_end::automatic},
                                       {"cycle", epoch_end::cycle},
                                       {"drop", epoch_end::drop},
                                       {"mask", epoch_end::mask}},
      "the pipeline's; drop for DATA, mask for standard input",
      "What happens at the end of an epoch; with cycle there is none, and --steps is needed");
  app.option_defaults()->always_capture_default(false);
  app.add_option("--journal", to.journal,
                 "Keep a journal of sources that exist once, so that their jobs can be resumed")
      ->type_name("DIR");
  add_pipeline_option(app, to);
}

void add_transform_option(CLI::App& app, std::optional<transform>& to) {
  add_choice(app, "--transform", to,
             std::map<std::string, transform>{{"none", transform::none},
                                              {"train224", transform::train224},
                                              {"eval224", transform::eval224}},
             "train224 for images, else none", "Work on each record");
}

void add_device_options(CLI::App& app, std::string& device, std::string& decoder) {
  app.add_option("--device", device, "Where numeric fields of batches go: a GPU by its number")
      ->type_name("cpu|cuda|cuda:N")
      ->default_str("cpu");
  app.add_option("--decoder", decoder, "Where JPEGs that go to a device are decoded")
      ->check(CLI::IsMember({"auto", "cpu", "device", "nvjpeg"}))
      ->type_name("auto|cpu|device|nvjpeg")
      ->default_str("auto");
}

void add_lend_option(CLI::App& app, std::string& lend) {
  app.add_option("--lend", lend, "What of a row helpers are sent: see leat graph")
      ->check(CLI::IsMember({"auto", "items", "records", "none"}))
      ->type_name("auto|items|records|none")
      ->default_str("auto");
}

pipeline job_pipeline(const order_options& x, std::optional<transform> chosen, pixel_form form) {
  auto result = described_pipeline(x, chosen, form);
  if (x.end)
    result = with_end(result, *x.end);
  return x.journal.empty() ? result : result.journal(x.journal);
}

namespace {

pipeline described_pipeline(const order_options& x, std::optional<transform> chosen,
                            pixel_form form) {
  if (!x.pipeline_file.empty())
    return pipeline_of_file(x, chosen);
  const auto data = data_pipeline(x.data);
  const auto maps = choose_transform(chosen, x.data, data);
  auto result = ordered(data, x, maps);
  batch_options batching{.lanes = x.lanes, .end = usual_end(x.data)};
  if (maps != transform::none) {
    auto decode = maps == transform::train224 ? train_image : eval_image;
    result = result.map(decode(image_field, image_form(form))).map(int_label("cls"));
    batching.fields = {"image", "label"};
  }
  return result.batch(x.global_batch, batching);
}

} // namespace

bool makes_images(const pipeline& job) {
  bool found = false;
  for_each_operator(operators_of(job), [&](const operator_facts& x) {
    found = found || (is_map(x) && x.get<std::string>("name").find("_image@") != std::string::npos);
  });
  return found;
}

std::optional<pipeline> plain_job(const pipeline& job) {
  const auto form = image_form(pixel_form::trainer);
  const std::vector maps{plain_train_image(image_field, form), plain_eval_image(image_field, form)};
  return has_any(job, maps) ? std::optional{with_maps(job, maps)} : std::nullopt;
}

void add_weights_option(CLI::App& app, std::vector<std::string>& to) {
  app.add_option("--weights", to,
                 "From this step of the job on, the pipeline's mix has these weights; snapshots "
                 "record it")
      ->type_name("STEP:W1,W2,..")
      ->allow_extra_args(false)
      ->default_str("");
}

std::vector<weight_change> weight_changes_of(const std::vector<std::string>& texts) {
  std::vector<weight_change> changes;
  for (const auto& text : texts) {
    const auto refuse = [&] {
      refuse_argument("--weights", "\"" + text + "\"",
                      "STEP:W1,W2,..: a step of the job, and a number per input of the mix");
    };
    const auto parts = split(text, ':');
    const auto step = parse_number(parts.front());
    if (parts.size() != 2 || !step)
      refuse();
    auto& change = changes.emplace_back();
    change.step = *step;
    for (const auto& number : split(parts.back(), ',')) {
      double weight = 0;
      const auto* end = number.data() + number.size();
      const auto [stop, failure] = std::from_chars(number.data(), end, weight);
      if (failure != std::errc{} || stop != end)
        refuse();
      change.weights.push_back(weight);
    }
  }
  return changes;
}

void add_bad_sample_option(CLI::App& app, bad_sample_policy& to) {
  add_choice(app, "--bad-sample", to,
             std::map<std::string, bad_sample_policy>{{"fail", bad_sample_policy::fail},
                                                      {"substitute", bad_sample_policy::substitute},
                                                      {"mask", bad_sample_policy::mask}},
             "fail", "What happens to a bad sample");
}

void add_dispatch_option(CLI::App& app, dispatch_policy& to) {
  add_choice(app, "--dispatch", to,
             std::map<std::string, dispatch_policy>{{"on_demand", dispatch_policy::on_demand},
                                                    {"round_robin", dispatch_policy::round_robin},
                                                    {"by_lane", dispatch_policy::by_lane}},
             "on_demand", "Which worker does which rows");
}

} // namespace leat::command
