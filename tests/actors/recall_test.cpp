// Records that can only be found by reading what lies before them, in operators that hold items
// when a job is restored.

#include "tests/support/packing.hpp"
#include "tests/support/restored_job.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/whole_job.hpp"

namespace leat::recall_test {

using namespace leat::test;

namespace {

constexpr std::uint64_t lanes = 2;
constexpr std::int64_t records = 60; // of each lane

/// Saves no state: to find a record, all before it are read.
class stateless final : public sequential_reader {
public:
  stateless(std::uint64_t unit, std::atomic<std::int64_t>& made)
      : number_(static_cast<std::int64_t>(unit) * 1000), end_(number_ + records), made_(made) {}

  bool next(sample& into) override {
    if (number_ == end_)
      return false;
    ++made_;
    into.set("number", number_);
    const std::vector<std::int64_t> tokens(static_cast<std::size_t>(1 + number_ % 7), number_);
    into.set("tokens", std::span{tokens}, {tokens.size()});
    ++number_;
    return true;
  }

private:
  std::int64_t number_;
  std::int64_t end_;
  std::atomic<std::int64_t>& made_;
};

filter_stage most() {
  return probing("most@1", [](const sample& s) { return s.get<std::int64_t>("number") % 5 != 0; });
}

constexpr std::size_t mix_of_two = 5;

/// Operators that hold items, over one source.
using operators = std::function<pipeline(const pipeline&)>;

const std::vector<operators> all_holding{
    [](const pipeline& x) { return x.shuffle_buffer(40, 1).map(ragged("tokens")); },
    [](const pipeline& x) { return x.shuffle_buffer(30, 1).filter(most()).map(ragged("tokens")); },
    [](const pipeline& x) { return x.map(ragged("tokens")).filter(most()).shuffle_buffer(30, 1); },
    [](const pipeline& x) {
      return x.repeat(2).enumerate("index").shuffle_buffer(40, 1).map(ragged("tokens"));
    },
    [](const pipeline& x) {
      return zip({x.shuffle_buffer(40, 1).map(ragged("tokens")),
                  count(200).map(leat::rename("value", "other")).shuffle_buffer(10)});
    },
    [](const pipeline& x) {
      return mix({x.shuffle_buffer(30, 1), x.shuffle_buffer(30, 2)}, {.weights = {1, 2}})
          .map(ragged("tokens"));
    },
    [](const pipeline& x) {
      return concat({x.shuffle_buffer(40, 1), x}).map(ragged("tokens"));
    },
    [](const pipeline& x) {
      return x.flat_map(copies(3)).shuffle_buffer(40, 1).map(ragged("tokens"));
    },
    [](const pipeline& x) {
      return x.shuffle_buffer(20, 1)
          .length_bucket("tokens", {3, 5}, {.group = 8, .window = 40})
          .map(ragged("tokens"));
    },
    [](const pipeline& x) {
      return x.shuffle_buffer(20, 1).map(ragged("tokens")).token_budget("tokens", 30, {.rows = 8});
    },
    [](const pipeline& x) { return x.shuffle_buffer(20, 1).pack("tokens", 16, {.bins = 4}); },
    [](const pipeline& x) {
      return x.pack("tokens", 5, {.bins = 3, .cut = pack_cut::above}).shuffle_buffer(8, 1);
    },
};

} // namespace

TEST_CASE("recall: a restored job reads each unit once for all records that its operators held") {
  for (std::size_t i = 0; i < all_holding.size(); ++i) {
    std::atomic<std::int64_t> made = 0;
    const auto source = sequential("stateless@1", lanes, [&made](std::uint64_t unit) {
      return std::make_unique<stateless>(unit, made);
    });
    const auto data = all_holding[i](source).batch(8, {.lanes = lanes, .end = epoch_end::mask});
    const auto run = [&](std::size_t workers, const std::string& from) {
      loader x{data,
               {.workers = workers,
                .epochs = 1,
                .bad_samples = bad_sample_policy::mask,
                .hash_pixels = true}};
      if (!from.empty())
        x.restore_parts({from});
      made = 0;
      return whole_job{x};
    };
    const auto [steps, states] = run(0, {});
    const auto once = made.load();
    REQUIRE(steps.size() > 3);
    for (std::size_t at = 1; at < states.size(); ++at) {
      CAPTURE(i, at);
      REQUIRE(run(at % 3, states[at]).steps == tail_of(steps, at));
      // Up to the place where each reader continues, and once more for what was held; two inputs
      // of a mix may take each other's reader away.
      CHECK(made <= (i == mix_of_two ? 3 : 2) * once);
    }
  }
}

TEST_CASE("recall: compressed files under every operator that holds items") {
  const temporary_directory dir;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream{dir / name, std::ios::binary} << bytes;
  };
  std::string list;
  for (std::uint64_t file = 0; file < lanes; ++file) {
    std::string text;
    for (std::int64_t i = 0; i < records; ++i)
      text += "{\"number\": " + std::to_string(i + 100 * static_cast<std::int64_t>(file))
              + ", \"tokens\": [1, 2, " + std::to_string(i) + "]}\n";
    const auto name = std::to_string(file);
    write("one-" + name + ".jsonl.zst", pack_in_parts(text, 0, [](auto x) { return zstd(x); }));
    write("many-" + name + ".jsonl.gz", pack_in_parts(text, 500, [](auto x) { return gzip(x); }));
    list += dir / ("one-" + name + ".jsonl.zst") + "\n";
  }
  write("list.txt", list + list);
  write("list-2.txt", list);
  const std::vector<pipeline> sources{json_lines(dir / "one-*.jsonl.zst"),
                                      json_lines(dir / "many-*.jsonl.gz"),
                                      lines(dir / "list*.txt").read_files(file_format::json_lines)};
  const auto seed = std::random_device{}();
  std::mt19937 random{seed};
  for (std::size_t s = 0; s < sources.size(); ++s)
    for (std::size_t i = 0; i < all_holding.size(); ++i) {
      if (sanitized && random() % 4 != 0)
        continue;
      CAPTURE(seed, s, i);
      const auto data = all_holding[i](sources[s]);
      check_restores(data.batch(8, {.lanes = lanes, .end = epoch_end::mask}), 1);
    }
}

TEST_CASE("recall: records of compressed archives") {
  const temporary_directory dir;
  for (std::uint64_t file = 0; file < lanes; ++file) {
    std::string archive;
    for (std::int64_t i = 0; i < records; ++i) {
      const auto content = "content " + std::to_string(i);
      archive += tar_writer::header(std::to_string(i) + ".txt", content.size());
      archive += tar_writer::padded(content);
    }
    archive += std::string(2 * tar_writer::block, '\0');
    std::ofstream{dir / (std::to_string(file) + ".tar.gz"), std::ios::binary} << gzip(archive);
  }
  const auto data = tar_stream(dir / "*.tar.gz").shuffle_buffer(40, 1).map(ragged("txt"));
  check_restores(data.batch(8, {.lanes = lanes, .end = epoch_end::mask}), 1);
}

} // namespace leat::recall_test
