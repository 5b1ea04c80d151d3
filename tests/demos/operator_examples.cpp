#include "tests/demos/operator_examples.hpp"

#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

namespace leat::test {
namespace {

class countdown : public leat::sequential_reader {
public:
  explicit countdown(std::uint64_t from) : left_(from) {}

  bool next(leat::sample& into) override {
    if (left_ == 0)
      return false;
    into.set("left", static_cast<std::int64_t>(left_--));
    return true;
  }
  std::optional<std::string> save() const override { return std::to_string(left_); }
  void load(const std::string& state) override { left_ = std::stoull(state); }

private:
  std::uint64_t left_;
};

} // namespace

std::map<std::string, std::function<pipeline()>> operator_examples() {
  std::map<std::string, std::function<pipeline()>> examples;
  examples["count"] = [] {
    auto data = leat::count(6).batch(3);
    return data;
  };
  examples["tar_shards"] = [] {
    auto data = leat::tar_shards("data/train-{000000..000001}.tar").batch(3);
    return data;
  };
  examples["image_folder"] = [] {
    auto data = leat::image_folder("photos").batch(3);
    return data;
  };
  examples["raw_records"] = [] {
    auto data = leat::raw_records("digits.u8", leat::dtype::u8, {2, 2}).batch(3);
    return data;
  };
  examples["tokens"] = [] {
    auto data = leat::tokens("corpus.bin", leat::dtype::u16, 3, {.stride = 2}).batch(2);
    return data;
  };
  examples["npy"] = [] {
    auto data = leat::npy("rows-*.npy").batch(3);
    return data;
  };
  examples["megatron"] = [] {
    auto data = leat::megatron("corpus").batch(2);
    return data;
  };
  examples["parquet"] = [] {
    auto data = leat::parquet("people.parquet", {.columns = {"name", "marks"}})
                    .shuffle({.seed = 1})
                    .batch(3);
    return data;
  };
  examples["arrow"] = [] {
    auto data = leat::arrow("points.feather").batch(3);
    return data;
  };
  examples["indexed"] = [] {
    auto squares = leat::from_function(
        "squares@1", 5, [](std::uint64_t i, leat::sample& s) { s.set("square", i * i); });
    auto data = squares.shuffle({.seed = 1}).batch(2, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["tar_stream"] = [] {
    auto data = leat::tar_stream("data/train-*.tar.gz").batch(4);
    return data;
  };
  examples["lines"] = [] {
    auto data = leat::lines("words.txt", {.ranges = 2}).batch(4, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["json_lines"] = [] {
    auto data = leat::json_lines("people.jsonl")
                    .filter(leat::field_between("age", 18, {}))
                    .batch(2, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["sequential"] = [] {
    auto open = [](std::uint64_t unit) { return std::make_unique<countdown>(3 - unit); };
    auto data = leat::sequential("countdown@1", 2, open).batch(2, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["standard_input"] = [] {
    auto data = leat::standard_input().batch(2);
    return data;
  };
  examples["once"] = [] {
    auto queue = [left = 3](leat::sample& s) mutable {
      if (left == 0)
        return false;
      s.set("left", std::int64_t{left--});
      return true;
    };
    auto data = leat::once("queue@1", queue).batch(2);
    auto kept = data.journal("journal");
    return data;
  };
  examples["feed"] = [] {
    auto data = leat::feed("queue").shuffle_buffer(100, 7).batch(8);
    return data;
  };
  examples["shuffle"] = [] {
    auto data = leat::count(6).shuffle({.seed = 7}).batch(3);
    return data;
  };
  examples["map"] = [] {
    auto near = leat::tar_shards("data/train-000000.tar")
                    .map(leat::rename("jpg", "near"))
                    .map(leat::select({"near"}));
    auto far = leat::tar_shards("data/train-000001.tar").map(leat::rename("jpg", "far"));
    auto data = leat::zip({near, far}).batch(3);
    return data;
  };
  examples["take"] = [] {
    auto data = leat::count(10).take(4).batch(2);
    return data;
  };
  examples["skip"] = [] {
    auto data = leat::count(10).skip(6).batch(2);
    return data;
  };
  examples["repeat"] = [] {
    auto data = leat::count(3).shuffle({.seed = 1}).repeat(2).batch(3);
    return data;
  };
  examples["enumerate"] = [] {
    auto data = leat::count(5)
                    .shuffle({.seed = 3})
                    .enumerate("n")
                    .filter(leat::field_between("n", 2, {}))
                    .batch(3, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["zip"] = [] {
    auto names = leat::lines("names.txt").map(leat::rename("text", "name"));
    auto ages = leat::lines("ages.txt").map(leat::rename("text", "age"));
    auto data = leat::zip({names, ages}).batch(2, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["concat"] = [] {
    auto data = leat::concat({leat::count(2), leat::count(4).skip(1)}).batch(5);
    return data;
  };
  examples["filter"] = [] {
    auto data = leat::count(10)
                    .filter(leat::key_hash(50))
                    .batch(3, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["sample"] = [] {
    auto data = leat::count(10).sample(0.5, 1).batch(3, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["filter of its own"] = [] {
    leat::filter_stage even{.name = "even@1", .make = [] {
                              return [](leat::sample& s) {
                                return std::to_integer<int>(s.bytes("value")[0]) % 2 == 0;
                              };
                            }};
    auto with_own =
        leat::count(10).filter(even).batch(3, {.lanes = 1, .end = leat::epoch_end::mask});
    return with_own;
  };
  examples["flat_map"] = [] {
    auto data = leat::lines("sentences.txt")
                    .flat_map(leat::split("text", ' '))
                    .batch(3, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["read_files"] = [] {
    auto data = leat::lines("shards.txt", {.ranges = 2})
                    .read_files(leat::file_format::tar, {.folder = "data"})
                    .batch(4);
    return data;
  };
  examples["deduplicate"] = [] {
    auto data = leat::lines("repeats.txt")
                    .deduplicate({"text"}, 2)
                    .batch(6, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["shuffle_buffer"] = [] {
    auto data =
        leat::lines("words.txt").shuffle_buffer(3, 1).batch(3, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["mix"] = [] {
    auto a = leat::lines("a.txt");
    auto b = leat::lines("b.txt");
    auto data = leat::mix({a, b}, {.weights = {2, 1}}).batch(3, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["scan"] = [] {
    auto data = leat::json_lines("steps.jsonl")
                    .scan(leat::running_sum("n", "sum"))
                    .filter(leat::field_between("sum", {}, 6))
                    .batch(4, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["pack"] = [] {
    auto data = leat::lines("docs.txt")
                    .pack("text", 8, {.bins = 2})
                    .batch(2, {.end = leat::epoch_end::mask});
    return data;
  };
  examples["length_bucket"] = [] {
    auto data = leat::lines("lines.txt")
                    .length_bucket("text", {2, 4}, {.group = 2, .window = 4})
                    .batch(2, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["token_budget"] = [] {
    auto data = leat::lines("lines.txt")
                    .token_budget("text", 6, {.rows = 4})
                    .batch(4, {.lanes = 1, .end = leat::epoch_end::mask});
    return data;
  };
  examples["batch"] = [] {
    auto data = leat::count(7).batch(4, {.end = leat::epoch_end::mask});
    return data;
  };
  return examples;
}

} // namespace leat::test
