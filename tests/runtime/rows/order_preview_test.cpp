#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::order_preview_test {
namespace {

/// Data of both kinds of order, with maps and operators that probe content.
class jobs {
public:
  jobs() {
    for (int file = 0; file < 4; ++file) {
      std::ofstream out{directory_ / ("f" + std::to_string(file) + ".txt")};
      for (int i = 0; i < 30; ++i)
        out << std::string(1 + (7 * i + file) % 11, 'x') << '\n';
    }
  }

  pipeline by_formula(batch_options batching = {}) const {
    return count(50).shuffle({.seed = 3}).take(45).map("noise@1", noise).batch(12, batching);
  }
  pipeline by_iterators(epoch_end end) const {
    return lines(directory_ / "*.txt")
        .filter(field_hash("text", 70))
        .shuffle_buffer(16, 9)
        .map("noise@1", noise)
        .batch(8, {.lanes = 4, .end = end});
  }
  std::vector<pipeline> all() const {
    return {by_formula(), by_formula({.end = epoch_end::mask}), by_iterators(epoch_end::drop),
            by_iterators(epoch_end::mask)};
  }

private:
  static void noise(sample& s, context& c) { s.set("noise", std::uint64_t{c.rng()()}); }

  test::temporary_directory directory_;
};

/// What one rank hands over. There is only one, since ranks that are asked one after the other
/// cannot agree.
std::vector<due_batch> handed_over(const pipeline& data, std::uint64_t epoch) {
  loader from{data, {.workers = 0, .epochs = epoch + 1}};
  from.seek(epoch, 0);
  std::vector<due_batch> batches;
  for (const auto& batch : from)
    batches.push_back(
        {batch->epoch(), batch->step(), batch->positions(), batch->ids(), batch->digest()});
  return batches;
}

std::vector<due_batch> previewed(const pipeline& data, const preview_options& from) {
  std::vector<due_batch> batches;
  for (const auto& due : order_preview{data, from})
    batches.push_back(due);
  return batches;
}

} // namespace

TEST_CASE("a preview is what loaders hand over, in any epoch") {
  const jobs x;
  for (const auto& data : x.all())
    for (const std::uint64_t epoch : {0, 1, 5}) {
      CAPTURE(to_string(data), epoch);
      const auto due = previewed(data, {.epoch = epoch});
      REQUIRE(due.size() > 2);
      CHECK(due == handed_over(data, epoch));
    }
}

TEST_CASE("a preview begins at any step, also behind the last") {
  const jobs x;
  for (const auto& data : x.all()) {
    CAPTURE(to_string(data));
    const auto all = previewed(data, {.epoch = 2});
    for (std::size_t step = 0; step <= all.size() + 1; ++step)
      CHECK(previewed(data, {.epoch = 2, .step = step})
            == std::vector<due_batch>(
                all.begin() + static_cast<std::ptrdiff_t>(std::min(step, all.size())), all.end()));
  }
}

TEST_CASE("rows of a preview belong to the ranks that its positions name") {
  const jobs x;
  constexpr std::uint64_t world_size = 2;
  for (const auto& data : {x.by_formula(), x.by_iterators(epoch_end::cycle)}) {
    order_preview preview{data};
    std::vector<loader> ranks;
    for (std::uint64_t rank = 0; rank < world_size; ++rank)
      ranks.emplace_back(data,
                         loader_options{.rank = rank, .world_size = world_size, .workers = 0});
    for (int step = 0; step < 3; ++step) {
      const auto due = preview.next();
      REQUIRE(due);
      hash128 digest;
      std::size_t rows = 0;
      for (std::uint64_t rank = 0; rank < world_size; ++rank) {
        const auto batch = ranks[rank].next();
        digest += batch->digest();
        rows += batch->valid_rows();
        for (const auto position : batch->positions())
          CHECK(position % world_size == rank);
      }
      CHECK(rows == due->ids.size());
      CHECK(digest == due->digest);
    }
  }
}

TEST_CASE("a preview makes no samples") {
  const auto data = count(20).map("must not run@1", [](sample&, context&) { FAIL(); }).batch(5);
  CHECK(previewed(data, {}).size() == 4);
}

TEST_CASE("data that cannot be read end a preview with their error, not its epoch") {
  class dying final : public sequential_reader {
  public:
    bool next(sample& into) override {
      if (at_ == 20)
        throw std::runtime_error{"the line is dead"};
      into.set("n", at_++);
      return true;
    }

  private:
    std::uint64_t at_ = 0;
  };
  const auto data = sequential("dies@1", 1, [](auto) { return std::make_unique<dying>(); })
                        .shuffle_buffer(4, 1)
                        .batch(4, {.end = epoch_end::drop});
  order_preview some{data};
  CHECK(some.next());
  for (const std::uint64_t step : {0, 2, 7}) {
    const auto problem = thrown_by([&] { previewed(data, {.step = step}); });
    CHECK(has(problem.details().got, "the line is dead"));
  }
}

TEST_CASE("an endless epoch has one batch after the other, and is the only one") {
  const jobs x;
  const auto data = x.by_iterators(epoch_end::cycle);
  order_preview preview{data, {.step = 100}};
  CHECK(preview.epoch().is_endless());
  CHECK(preview.next()->step == 100);
  CHECK(preview.next()->step == 101);
  CHECK(code_of([&] { previewed(data, {.epoch = 1}); }) == errc::invalid_argument);
  CHECK(code_of([&] { previewed(x.by_formula(), {.epoch = UINT64_MAX}); })
        == errc::invalid_argument);
}

TEST_CASE("a preview of an epoch without a batch, or of a pipeline without one, is refused") {
  CHECK(code_of([] { order_preview{count(3).batch(4)}; }) == errc::empty_epoch);
  CHECK(code_of([] { order_preview{count(3)}; }) == errc::invalid_argument);
}

TEST_CASE("a preview can be moved, and goes on where it stood") {
  const jobs x;
  order_preview first{x.by_formula()};
  CHECK(first.next()->step == 0);
  auto second = std::move(first);
  CHECK(second.next()->step == 1);
}

TEST_CASE("facts of epochs say how samples become batches") {
  const jobs x;
  CHECK(epoch_of(x.by_formula())
        == epoch_facts{.batch_rows = 12, .lanes = 12, .samples = 45, .batches = 3});
  CHECK(epoch_of(x.by_formula({.end = epoch_end::mask})).batches == 4);
  const auto endless = epoch_of(x.by_formula({.lanes = 6, .end = epoch_end::cycle}));
  CHECK(endless.is_endless());
  CHECK_FALSE(endless.batches);
  CHECK(endless.lanes == 6);
  CHECK_FALSE(endless.needs_agreement());
  const auto unknown = epoch_of(x.by_iterators(epoch_end::mask));
  CHECK(unknown
        == epoch_facts{.batch_rows = 8, .lanes = 4, .end = epoch_end::mask, .is_indexed = false});
  CHECK(unknown.needs_agreement());
  CHECK_FALSE(epoch_of(x.by_iterators(epoch_end::cycle)).needs_agreement());
}

TEST_CASE("world sizes are the divisors of the lanes, and any where the order is a formula") {
  const jobs x;
  CHECK(epoch_of(x.by_formula()).world_sizes().empty());
  CHECK(epoch_of(x.by_iterators(epoch_end::drop)).world_sizes()
        == std::vector<std::uint64_t>{1, 2, 4});
}

} // namespace leat::order_preview_test
