// The code of docs/getting-started.md, compiled and run so that it stays true.
//   getting_started DIRECTORY        makes its data in there

#include <leat/leat.hpp>

#include "tools/made_data/synthetic_photos.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

// The trainer that the text talks about.
std::uint64_t trained_rows = 0;
struct model {
  void learn(leat::tensor_view<const float, 4> images, leat::tensor_view<const std::int64_t, 1>,
             std::span<const std::uint8_t> = {}) {
    trained_rows += images.extent(0);
  }
};

leat::pipeline small_photos() {
  return leat::tar_shards("data/*.tar")
      .map(leat::eval_image("jpg", {.size = 32}))
      .map(leat::int_label("cls"))
      .batch(16, {.fields = {"image", "label"}});
}

void first_loop() {
  auto data = leat::tar_shards("data/*.tar")
                  .shuffle({.seed = 7})
                  .map(leat::train_image("jpg", {.size = 64}))
                  .map(leat::int_label("cls"))
                  .batch(16, {.fields = {"image", "label"}});

  leat::loader loader(data, {.workers = 2, .epochs = 2});
  model net;
  while (auto batch = loader.next())
    net.learn(batch->view<float, 4>("image"), batch->view<std::int64_t, 1>("label"));
}

void stored_data() {
  auto shards = leat::tar_shards("data/train-{000000..000003}.tar");
  auto several = leat::tar_shards(std::vector<std::string>{"data/train-*.tar", "more/*.tar"});
  auto folder = leat::image_folder("photos");
  auto digits = leat::raw_records("digits.u8", leat::dtype::u8, {28, 28});
  (void)shards, (void)several, (void)folder, (void)digits;
}

void made_data() {
  std::vector<float> points{0, 0, 1, 0, 0, 1, 1, 1};
  auto columns = leat::from_vector("points@1", "point", std::move(points), {2});

  auto squares = leat::from_function(
      "squares@1", 1000, [](std::uint64_t i, leat::sample& s) { s.set("square", i * i); });

  auto numbers = leat::count(1'000'000'000);
  (void)columns, (void)squares, (void)numbers;
}

class sentences : public leat::source {
public:
  explicit sentences(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  std::uint64_t size() const override { return lines_.size(); }
  void read(std::uint64_t record, leat::sample& into) const override {
    into.set("text", lines_[record]);
  }
  std::string name() const override { return "sentences"; }

private:
  std::vector<std::string> lines_;
};

class clips : public leat::stored_source {
public:
  clips(std::vector<std::string> files, std::vector<leat::extent> places)
      : stored_source(std::move(files)), places_(std::move(places)) {}
  std::uint64_t size() const override { return places_.size(); }
  void locate(std::uint64_t record, std::vector<leat::extent>& into) const override {
    into.push_back(places_[record]);
  }
  void decode(std::uint64_t, std::span<const std::byte> bytes, leat::sample& into) const override {
    into.borrow("sound", bytes);
  }
  std::string name() const override { return "clips"; }

private:
  std::vector<leat::extent> places_;
};

void own_source() {
  auto data = leat::indexed("sentences@1", std::make_shared<sentences>(std::vector<std::string>{
                                               "one sentence", "another", "and a third one"}))
                  .batch(3);
  leat::loader loader(data, {});
  auto batch = loader.next();
  auto text = batch->ragged("text");
  for (std::size_t row = 0; row < text.size(); ++row)
    std::cout << text.text(row) << '\n';
}

void orders(const leat::pipeline& data) {
  auto shuffled = data.shuffle({.seed = 7});
  auto near = data.shuffle({.seed = 7, .kind = leat::shuffle_kind::windowed, .window = 16});
  auto batched = shuffled.batch(240, {.lanes = 24, .end = leat::epoch_end::mask});
  (void)near, (void)batched;
}

void joined(const leat::pipeline& data) {
  auto photos = data.shuffle({.seed = 7});
  auto noisy = photos.map(leat::rename("jpg", "other")).map(leat::select({"other"})).skip(1);
  auto pairs = leat::zip({photos, noisy}).take(50).enumerate("pair");
  auto twice = leat::concat({photos.repeat(2), photos});
  auto batch = leat::loader(pairs.batch(5), {}).next();
  std::cout << to_string(pairs) << batch->ids()[0] << ", one of " << twice.size() << '\n';
}

void write_reviews() {
  std::filesystem::create_directories("reviews");
  for (char name = 'a'; name <= 'c'; ++name) {
    std::ofstream file{std::string{"reviews/"} + name + ".jsonl"};
    for (int i = 0; i < 40; ++i)
      file << R"({"text": "number )" << i << " of " << name << R"(", "stars": )" << i % 5 << "}\n";
  }
}

void streams() {
  auto good = leat::json_lines("reviews/{a,b}.jsonl", {.order = leat::file_order::shuffled})
                  .filter(leat::field_between("stars", 3, {}))
                  .shuffle_buffer(16, 7);
  auto all = leat::json_lines("reviews/[bc].jsonl");
  auto packed = leat::mix({good, all}, {.weights = {3, 1}})
                    .pack("text", 64, {.delimiter = '\n'})
                    .batch(4, {.lanes = 2});

  leat::loader loader(packed, {.workers = 2});
  std::int64_t padding = 0;
  for (int step = 0; step < 100; ++step) {
    auto batch = loader.next();
    auto documents = batch->view<std::int32_t, 2>("segment").flat();
    padding += std::count(documents.begin(), documents.end(), 0);
  }
  std::cout << padding << " bytes of padding in 100 batches\n";
}

void batches(model& net) {
  leat::loader loader(small_photos(), {.leases = 2});
  auto batch = loader.next();
  auto images = batch->view<float, 4>("image");
  auto labels = batch->view<std::int64_t, 1>("label");
  float pixel = images(0, 2, 16, 16);
  auto first_image = images[0];
  auto everything = images.flat();
  net.learn(images, labels, batch->valid());
  std::cout << "row 0 is " << batch->ids()[0] << " at position " << batch->positions()[0] << '\n';
  batch.reset();
  (void)pixel, (void)first_image, (void)everything;
}

leat::pipeline maps(const leat::pipeline& data) {
  auto with_length = data.map("length@1", [](leat::sample& s, leat::context&) {
    s.set("length", static_cast<std::int64_t>(s.text("txt").size()));
  });

  auto with_histogram = with_length.map(
      "histogram@1", leat::per_worker([] {
        return [counts = std::vector<std::int64_t>(256)](leat::sample& s, leat::context&) mutable {
          std::fill(counts.begin(), counts.end(), 0);
          for (auto x : s.bytes("jpg"))
            ++counts[std::to_integer<std::size_t>(x)];
          s.set("histogram", std::span<const std::int64_t>(counts), {counts.size()});
        };
      }));

  auto with_noise = with_histogram.map("noise@1", [](leat::sample& s, leat::context& c) {
    auto noise = s.make<float>("noise", {8});
    for (auto& x : noise)
      x = static_cast<float>(c.rng().uniform(-1, 1));
  });
  return with_noise;
}

void bad_samples(const leat::pipeline& data) {
  auto strict = data.map("check@1", [](leat::sample& s, leat::context&) {
    if (s.bytes("jpg").size() < 100)
      throw leat::bad_sample(leat::cause::truncated, "a JPEG of less than 100 bytes");
  });

  leat::loader loader(strict.batch(16), {.bad_samples = leat::bad_sample_policy::substitute,
                                         .bad_sample_log = "bad.jsonl"});
  while (auto batch = loader.next())
    for (const auto& bad : batch->bad())
      std::cout << bad.id << ": " << leat::to_string(bad.why) << ", " << bad.text << '\n';
}

void saving(const leat::pipeline& data, model& net) {
  leat::loader loader(data, {.workers = 2, .epochs = 2});
  if (auto at = loader.restore("snapshots"))
    std::cout << "resumes at epoch " << at->epoch << " step " << at->step << '\n';
  while (auto batch = loader.next()) {
    net.learn(batch->view<float, 4>("image"), batch->view<std::int64_t, 1>("label"));
    if (batch->end_of_epoch())
      loader.save("snapshots", *batch);
  }
  loader.wait_saved();
}

void own_checkpoint(const leat::pipeline& data) {
  std::string saved;
  {
    leat::loader loader(data, {.workers = 2});
    auto old = loader.next()->snapshot();
    auto batch = loader.next();
    saved = batch->snapshot();
    loader.keep({saved}); // before the checkpoint is written
    loader.let_go({old}); // when an older one is gone: the journal forgets what only it needed
  }
  leat::loader loader(data, {.workers = 1});
  auto at = loader.restore_parts({saved});
  std::cout << "resumes at step " << at.step << '\n';
}

void own_place(const leat::pipeline& data) {
  leat::loader loader(data, {.workers = 1, .epochs = 2});
  loader.seek(1, 3);            // epoch, step
  loader.skip_first_batches(2); // from there
  auto batch = loader.next();
  std::cout << "begins at step " << batch->step() << '\n';
}

void other_world(const leat::pipeline& data) {
  leat::loader first(data, {.rank = 0, .world_size = 2});
  leat::loader second(data, {.rank = 1, .world_size = 2});
  auto a = first.next();
  auto b = second.next();
  std::vector<std::string> parts{a->snapshot(), b->snapshot()};

  leat::loader alone(data, {.rank = 0, .world_size = 1});
  alone.restore_parts(parts);
}

void two_loaders(const leat::pipeline& training_data, const leat::pipeline& validation_data) {
  leat::loader training(training_data, {.workers = 3, .epochs = 2});
  leat::loader validation(validation_data, {.workers = 1});
  for (auto batch : training)
    if (batch->end_of_epoch()) {
      validation.rewind();
      for (auto checked : validation)
        std::cout << "checked " << checked->valid_rows() << " rows\n";
    }
}

void logging(const leat::pipeline& data) {
  leat::loader loader(data, {.workers = 2, .hash_pixels = true});
  leat::run_log log("run.log", loader); // after restore()
  for (auto batch : loader)
    log.append(*batch); // before the step, and before its snapshot
}

void looking(const leat::pipeline& data) {
  for (const auto& due : leat::order_preview(data, {.epoch = 1, .step = 10}))
    std::cout << "step " << due.step << " begins with " << due.ids.front() << '\n';

  const auto graph = leat::graph_of(data);
  if (!graph.is_indexed())
    std::cout << "a snapshot takes about " << graph.lane_bytes() << " bytes per lane\n";

  leat::sample first;
  leat::indexed_sources(data)[0]->read(0, first);
  for (const auto& field : first.fields())
    std::cout << field << ": " << first.bytes(field).size() << " bytes\n";

  const auto saved = leat::read_snapshot("snapshots"); // the newest complete set
  std::cout << saved.samples << " samples so far, then epoch " << saved.epoch << " step "
            << saved.step << '\n';
  std::cout << to_string(leat::pipeline_of(saved));
}

void resizing(leat::loader& loader) {
  loader.resize_workers(4);
  auto batch = loader.next();
  for (const auto& x : loader.stats().workers)
    std::cout << "worker " << x.worker << " has done " << x.rows_done << " rows\n";
}

void own_runtime(const leat::pipeline& data) {
  auto own = std::make_shared<leat::runtime>(leat::runtime_options{.control_threads = 1});
  leat::loader validation{data, {.workers = 4, .runtime = own}};
}

void own_loader() {
  auto at = std::make_shared<std::size_t>(0);
  leat::own_loader<int> squares({.name = "squares@1",
                                 .begin_epoch = [at](std::uint64_t) { *at = 0; },
                                 .next = [at]() -> std::optional<int> {
                                   if (*at == 10)
                                     return std::nullopt;
                                   const auto i = static_cast<int>((*at)++);
                                   return i * i;
                                 },
                                 .save = [at] { return std::to_string(*at); },
                                 .load = [at](const std::string& x) { *at = std::stoul(x); }},
                                {.epochs = 2});
  squares.skip_first_batches(7);
  while (auto batch = squares.next())
    if (batch->end_of_epoch)
      squares.save("own_snapshots");
}

void errors() {
  try {
    leat::loader loader(leat::tar_shards("nowhere/*.tar").batch(16), {});
  } catch (const leat::error& e) {
    std::cout << e.what() << '\n';
    if (e.code() == leat::errc::not_found)
      std::cout << "looked for " << e.details().file << '\n';
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "getting_started DIRECTORY\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  std::filesystem::current_path(argv[1]);
  std::filesystem::remove_all("snapshots");
  leat::make_synthetic_data("data", {.samples = 240, .shards = 4});

  first_loop();
  stored_data();
  made_data();
  own_source();
  const auto records = leat::tar_shards("data/*.tar");
  orders(records);
  joined(records);
  write_reviews();
  streams();
  model net;
  batches(net);
  leat::loader(maps(records).batch(16), {}).next();
  bad_samples(records);
  saving(small_photos(), net);
  own_checkpoint(small_photos());
  own_place(small_photos());
  other_world(small_photos());
  two_loaders(small_photos(), small_photos());
  logging(small_photos());
  looking(small_photos());
  leat::loader loader(small_photos(), {.workers = 1});
  resizing(loader);
  own_runtime(small_photos());
  own_loader();
  errors();
  std::cout << trained_rows << " rows trained\n";
  return trained_rows == 4 * records.size() + 16 ? 0 : 1;
}
