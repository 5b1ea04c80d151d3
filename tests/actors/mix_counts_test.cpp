#include "tests/support/id_rows.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>
#include <leat/testing.hpp>

namespace leat::mix_counts_test {
namespace {

constexpr std::size_t num_files = 3;
constexpr std::uint64_t steps = 24;

/// Lines of text of many lengths, and what their ids say about them.
class texts {
public:
  texts() {
    std::mt19937_64 random{7};
    for (std::size_t file = 0; file < num_files; ++file) {
      const auto name = name_of(file);
      std::ofstream out{directory_ / name};
      std::uint64_t offset = 0;
      for (std::size_t i = 0; i < 150 + 60 * file; ++i) {
        const std::string text(random() % 20 + (file == 1 ? 10 : 0), 'x');
        out << text << '\n';
        lengths_[name + "/@" + std::to_string(offset)] = text.size();
        offset += text.size() + 1;
      }
    }
  }

  static std::string name_of(std::size_t file) { return std::string(1, "abc"[file]) + ".txt"; }
  std::string path_of(std::size_t file) const { return directory_ / name_of(file); }
  pipeline source(std::size_t file, std::uint64_t seed) const {
    return lines(path_of(file), {.ranges = 4, .order = file_order::shuffled, .seed = seed});
  }
  std::uint64_t length(const std::string& id) const { return lengths_.at(id); }

private:
  test::temporary_directory directory_;
  std::map<std::string, std::uint64_t> lengths_;
};

using counts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// What the ids of samples say about the inputs that they came from: samples and their costs, each
/// where its first piece is.
class model {
public:
  model(const texts& from, bool has_cost, std::vector<std::size_t> input_of_file)
      : from_(from), has_cost_(has_cost), input_of_file_(std::move(input_of_file)) {
    given_.resize(*std::max_element(input_of_file_.begin(), input_of_file_.end()) + 1);
  }

  void add(std::string_view id) {
    if (id.starts_with('('))
      id = id.substr(1, id.size() - 2);
    while (!id.empty()) {
      const auto end = std::min(id.find('+'), id.size());
      add_piece(std::string{id.substr(0, end)});
      id.remove_prefix(std::min(end + 1, id.size()));
    }
  }
  const counts& given() const noexcept { return given_; }

private:
  void add_piece(std::string piece) {
    if (const auto child = piece.find('#'); child != std::string::npos) {
      if (piece.substr(child) != "#0")
        return;
      piece.resize(child);
    }
    if (const auto dash = piece.find('-'); dash != std::string::npos) {
      const auto part = piece.rfind('@');
      if (piece.substr(part + 1, dash - part - 1) != "0")
        return;
      piece.resize(part);
    }
    auto& to = given_[input_of_file_[static_cast<std::size_t>(piece[0] - 'a')]];
    ++to.first;
    to.second += has_cost_ ? from_.length(piece) : 0;
  }

  const texts& from_;
  bool has_cost_;
  std::vector<std::size_t> input_of_file_;
  counts given_;
};

/// Adds what one rank, or a snapshot, says to the sum of all.
void add(counts& to, const std::vector<mix_counts>& mixes) {
  std::size_t next = 0;
  for (const auto& mix : mixes)
    for (const auto& x : mix.inputs) {
      if (to.size() == next)
        to.emplace_back();
      to[next].first += x.samples;
      to[next].second += x.cost;
      ++next;
    }
}

/// A pipeline with one mix, of which the model knows the inputs.
struct mixed_job {
  pipeline data;
  bool has_cost = false;
  std::vector<std::size_t> bad = {};
};

pipeline above(pipeline mixed, std::mt19937_64& random) {
  switch (random() % 7) {
  case 0:
    return mixed.shuffle_buffer(random() % 40 + 8, 3);
  case 1:
    return mixed.filter(key_hash(70));
  case 2:
    return mixed.filter(field_hash("text", 70)).shuffle_buffer(12, 5);
  case 3:
    return mixed.pack("text", 40, {.bins = 3, .cut = pack_cut::above});
  case 4:
    return mixed.shuffle_buffer(20, 9).pack("text", 23, {.split = true});
  case 5:
    return mixed.flat_map(windows("text", 7));
  default:
    return mixed;
  }
}

mixed_job any_job(const texts& from, std::mt19937_64& random) {
  mix_options options{.rule = random() % 3 == 0 ? mix_rule::random : mix_rule::deficit,
                      .stop = random() % 2 == 0 ? mix_stop::all : mix_stop::cycle,
                      .seed = random() % 5};
  if (random() % 2 == 0)
    options.weights = {1.0 + static_cast<double>(random() % 4), 1, 0.5};
  if (random() % 2 == 0)
    options.cost = "text";
  const bool has_cost = !options.cost.empty() && options.rule == mix_rule::deficit;
  if (options.stop == mix_stop::cycle)
    options.max_repeats = random() % 3;
  if (has_cost && random() % 2 == 0) {
    options.schedule = {{random() % 900 + 1, {1, 1, 5}}, {random() % 900 + 901, {2, 0, 1}}};
    options.schedule_by = mix_schedule::cost;
  }
  std::vector<pipeline> inputs;
  for (std::size_t file = 0; file < num_files; ++file) {
    auto x = from.source(file, random() % 3);
    if (random() % 3 == 0)
      x = x.filter(field_hash("text", 80));
    inputs.push_back(std::move(x));
  }
  mixed_job result{above(mix(std::move(inputs), options), random), has_cost};
  for (auto left = random() % 4; left > 0; --left)
    result.bad.push_back(random() % (8 * steps));
  result.data = result.data.batch(8, {.lanes = 4, .end = epoch_end::cycle});
  return result;
}

loader_options options_of(const mixed_job& job, std::mt19937_64& random, std::uint64_t rank,
                          std::uint64_t world) {
  loader_options options{
      .rank = rank, .world_size = world, .workers = random() % 3, .steps = steps};
  options.bad_samples = bad_sample_policy::mask;
  options.fault = drill({.throw_at = {job.bad.begin(), job.bad.end()}});
  return options;
}

counts counts_of(const id_rows& all, const texts& from, const mixed_job& job) {
  model due{from, job.has_cost, {0, 1, 2}};
  for (const auto& [place, id] : all)
    due.add(id);
  return due.given();
}

TEST_CASE("counts of a mix's inputs are those of the samples handed over, through any restarts") {
  const texts from;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random{seed};
    const auto job = any_job(from, random);
    CAPTURE(seed, to_string(job.data));
    id_rows due;
    loader whole{job.data, options_of(job, random, 0, 1)};
    while (auto batch = whole.next()) {
      keep(due, *batch);
      counts told;
      add(told, whole.stats().mixes);
      REQUIRE(told == counts_of(due, from, job));
    }
    id_rows got;
    std::vector<std::string> parts;
    for (std::uint64_t at = 0; at < steps;) {
      const std::uint64_t world = std::uint64_t{1} << random() % 3;
      const auto stop = std::min(steps, at + 1 + random() % 9);
      CAPTURE(at, stop, world);
      std::vector<std::string> next_parts;
      counts told;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        loader part{job.data, options_of(job, random, rank, world)};
        if (!parts.empty())
          part.restore_parts(parts);
        for (auto step = at; step < stop; ++step)
          keep(got, *part.next());
        next_parts.push_back(part.snapshot());
        add(told, part.stats().mixes);
      }
      std::shuffle(next_parts.begin(), next_parts.end(), random);
      const auto so_far = counts_of(got, from, job);
      REQUIRE(told == so_far);
      counts said;
      add(said, inspect_snapshot(next_parts).mixes);
      REQUIRE(said == so_far);
      parts = std::move(next_parts);
      at = stop;
    }
    REQUIRE(got == due);
  }
}

TEST_CASE("counts of mixes: each with the names of its inputs and the weights of the next step") {
  const texts from;
  const auto inner =
      mix({from.source(0, 1), from.source(1, 1)}, {.weights = {3, 1}, .cost = "text"});
  const auto outer =
      mix({inner.shuffle_buffer(30, 2), concat({from.source(2, 1), from.source(2, 2)})},
          {.weights = {0.5, 1.5}, .schedule = {{5, {1, 0}}}});
  loader job{outer.batch(8, {.lanes = 4, .end = epoch_end::mask}), {.workers = 2}};
  model given{from, true, {0, 1, 3}};
  for (int step = 0; step < 10; ++step) {
    const auto batch = job.next();
    for (const auto& id : batch->ids())
      given.add(id);
    const auto mixes = job.stats().mixes;
    REQUIRE(mixes.size() == 2);
    CHECK(mixes[0].cost == "text");
    REQUIRE(mixes[0].inputs.size() == 2);
    CHECK(mixes[0].inputs[0].name == from.path_of(0));
    CHECK(mixes[0].inputs[1].name == from.path_of(1));
    CHECK(mixes[0].inputs[0].weight == 3);
    CHECK(mixes[0].inputs[0].samples == given.given()[0].first);
    CHECK(mixes[0].inputs[1].cost == given.given()[1].second);
    CHECK(mixes[1].cost.empty());
    CHECK(mixes[1].inputs[1].name == from.path_of(2) + " and 1 more");
    CHECK(mixes[1].inputs[0].samples == given.given()[0].first + given.given()[1].first);
    CHECK(mixes[1].inputs[1].samples == given.given()[3].first);
    CHECK(mixes[1].inputs[1].cost == 0);
    CHECK(mixes[1].inputs[0].weight == (step + 1 < 5 ? 5 : 1));
    CHECK(inspect_snapshot({batch->snapshot()}).mixes == mixes);
  }
  job.rewind();
  CHECK(job.stats().mixes[1].inputs[0].samples == 0);
}

TEST_CASE("counts of mixes: a change of weights is seen at once, at its step") {
  const texts from;
  const auto data = mix({from.source(0, 1), from.source(1, 1)}, {.weights = {3, 1}})
                        .batch(8, {.lanes = 4, .end = epoch_end::cycle});
  loader job{data, {.workers = 0, .steps = 5}};
  const auto weight = [&] { return job.stats().mixes.front().inputs[1].weight; };
  CHECK(weight() == 1);
  job.set_weights({1, 9}, 2);
  CHECK(weight() == 1);
  REQUIRE(job.next());
  CHECK(weight() == 1);
  REQUIRE(job.next());
  CHECK(weight() == 9);
  job.set_weights({1, 5}, 3);
  CHECK(weight() == 9);
  CHECK(inspect_snapshot({job.snapshot()}).mixes.front().inputs[1].weight == 9);
}

TEST_CASE("counts of mixes: weights of a schedule by cost are known of all ranks together") {
  const texts from;
  const auto data = mix({from.source(0, 1), from.source(2, 1)}, {.weights = {3, 1},
                                                                 .cost = "text",
                                                                 .schedule = {{200, {1, 7}}},
                                                                 .schedule_by = mix_schedule::cost})
                        .batch(8, {.lanes = 4, .end = epoch_end::cycle});
  const auto weights = [](const mix_counts& x) {
    return std::pair{x.inputs[0].weight, x.inputs[1].weight};
  };
  bool was_below = false;
  bool was_above = false;
  for (std::uint64_t steps = 0; steps < 9; ++steps) {
    std::vector<std::string> parts;
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      loader job{data, {.rank = rank, .world_size = 2, .workers = 0}};
      for (std::uint64_t i = 0; i < steps; ++i)
        REQUIRE(job.next());
      CHECK(weights(job.stats().mixes.front()) == std::pair{0UL, 0UL});
      parts.push_back(job.snapshot());
    }
    CHECK(weights(inspect_snapshot({parts[0]}).mixes.front()) == std::pair{0UL, 0UL});
    const auto mix = inspect_snapshot(parts).mixes.front();
    const bool is_below = mix.inputs[0].cost + mix.inputs[1].cost < 200;
    (is_below ? was_below : was_above) = true;
    CHECK(weights(mix) == (is_below ? std::pair{3UL, 1UL} : std::pair{1UL, 7UL}));
    loader alone{data, {.workers = 0}};
    alone.restore_parts(parts);
    CHECK(alone.stats().mixes.front() == mix);
  }
  CHECK((was_below && was_above));
}

TEST_CASE("steps that are left out, and those before a place that is sought, do not count") {
  const texts from;
  const auto data = mix({from.source(0, 1), from.source(1, 1), from.source(2, 1)}, {.cost = "text"})
                        .batch(8, {.lanes = 4, .end = epoch_end::mask});
  loader job{data, {.workers = 1}};
  job.seek(0, 3);
  job.leave_out_steps(5, 6);
  model due{from, true, {0, 1, 2}};
  for (int i = 0; i < 5; ++i)
    for (const auto& id : job.next()->ids())
      due.add(id);
  counts told;
  add(told, job.stats().mixes);
  CHECK(told == due.given());
}

} // namespace
} // namespace leat::mix_counts_test
