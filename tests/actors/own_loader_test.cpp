#include "tests/support/catch.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

namespace leat::own_loader_test {
namespace {

/// Epoch e has 4 + e batches: e * 100, e * 100 + 1, ...
struct counting {
  std::uint64_t epoch = 0;
  std::uint64_t next = 0;
  /// Number of calls of next().
  std::size_t calls = 0;
};

own_loader_functions<std::uint64_t> functions_of(const std::shared_ptr<counting>& x, bool saves) {
  own_loader_functions<std::uint64_t> result;
  result.name = "counting@1";
  result.begin_epoch = [x](std::uint64_t epoch) {
    x->epoch = epoch;
    x->next = 0;
  };
  result.next = [x]() -> std::optional<std::uint64_t> {
    ++x->calls;
    if (x->next == 4 + x->epoch)
      return std::nullopt;
    return x->epoch * 100 + x->next++;
  };
  if (saves) {
    result.save = [x] { return std::to_string(x->next); };
    result.load = [x](const std::string& place) { x->next = std::stoull(place); };
  }
  return result;
}

own_loader<std::uint64_t> own(bool saves, own_loader_options options = {.epochs = 3}) {
  return {functions_of(std::make_shared<counting>(), saves), options};
}

using batch_list = std::vector<adapted_batch<std::uint64_t>>;

batch_list rest_of(own_loader<std::uint64_t>& x) {
  batch_list all;
  while (auto batch = x.next())
    all.push_back(*batch);
  return all;
}

void require_same(const batch_list& expected, std::size_t begin, const batch_list& got) {
  REQUIRE(got.size() == expected.size() - begin);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& x = expected[begin + i];
    CAPTURE(i, begin);
    REQUIRE(got[i].content == x.content);
    REQUIRE(got[i].epoch == x.epoch);
    REQUIRE(got[i].step == x.step);
    REQUIRE(got[i].global_step == x.global_step);
    REQUIRE(got[i].end_of_epoch == x.end_of_epoch);
  }
}

TEST_CASE("own_loader: epochs, steps and their ends") {
  auto x = own(false);
  const auto all = rest_of(x);
  REQUIRE(all.size() == 4 + 5 + 6);
  for (std::size_t i = 0; i < all.size(); ++i) {
    REQUIRE(all[i].global_step == i);
    REQUIRE(all[i].content == all[i].epoch * 100 + all[i].step);
    REQUIRE(all[i].end_of_epoch == (all[i].step == 3 + all[i].epoch));
  }
}

TEST_CASE("own_loader: restored after any batch, with and without a saved place") {
  for (const bool saves : {false, true}) {
    auto whole = own(saves);
    const auto expected = rest_of(whole);
    for (std::size_t broken = 0; broken <= expected.size(); ++broken) {
      CAPTURE(saves, broken);
      auto first = own(saves);
      for (std::size_t i = 0; i < broken; ++i)
        first.next();
      const auto state = first.snapshot();
      auto second = own(saves);
      REQUIRE(second.restore_parts({state}).global_step == broken);
      REQUIRE(second.snapshot() == state);
      require_same(expected, broken, rest_of(second));
    }
  }
}

TEST_CASE("own_loader: a saved place saves running through what came before") {
  const auto before = std::make_shared<counting>();
  own_loader<std::uint64_t> first{functions_of(before, true), {.epochs = 30}};
  first.skip_first_batches(4 + 5 + 6 + 5);
  const auto after = std::make_shared<counting>();
  own_loader<std::uint64_t> second{functions_of(after, true), {.epochs = 30}};
  second.restore_parts({first.snapshot()});
  REQUIRE(second.next()->content == 305);
  REQUIRE(after->calls == 2); // the batch, and the one behind
}

TEST_CASE("own_loader: skipped batches count, over the ends of epochs and the job") {
  auto whole = own(true);
  const auto expected = rest_of(whole);
  for (std::size_t n = 0; n <= expected.size() + 2; ++n) {
    auto x = own(true);
    x.skip_first_batches(n);
    require_same(expected, std::min(n, expected.size()), rest_of(x));
  }
}

TEST_CASE("own_loader: an abandoned epoch ends, and the next one is whole") {
  auto whole = own(true);
  const auto expected = rest_of(whole);
  auto x = own(true);
  x.abandon_epoch(); // nothing of it was handed over
  REQUIRE(x.next()->content == 0);
  x.abandon_epoch();
  const auto state = x.snapshot();
  auto rest = rest_of(x);
  REQUIRE(rest.size() == 5 + 6);
  REQUIRE(rest.front().content == 100);
  REQUIRE(rest.front().global_step == 1);
  auto again = own(true);
  again.restore_parts({state});
  require_same(rest, 0, rest_of(again));
}

TEST_CASE("own_loader: directories with a part of each rank") {
  test::temporary_directory at;
  auto first = own(true, {.rank = 0, .world_size = 2, .epochs = 2});
  auto second = own(true, {.rank = 1, .world_size = 2, .epochs = 2});
  for (int i = 0; i < 6; ++i) {
    first.next();
    second.next();
  }
  first.save(at.path());
  auto again = own(true, {.rank = 1, .world_size = 2, .epochs = 2});
  heard_notices heard;
  REQUIRE_FALSE(again.restore(at.path())); // rank 1's is missing
  REQUIRE(heard.number() == 1);
  REQUIRE(heard.texts().front().ends_with("1 of 2 parts, no part of rank 1"));
  second.save(at.path());
  REQUIRE(again.restore(at.path())->global_step == 6);
  REQUIRE(again.next()->content == 102);
  REQUIRE(code_of([&] { again.restore(at.path()); }) == errc::invalid_argument);
  auto alone = own(true);
  REQUIRE(code_of([&] { alone.restore(at.path()); }) == errc::mismatch);
  REQUIRE(code_of([&] { alone.restore_parts({"torn"}); }) == errc::bad_snapshot);
  auto functions = functions_of(std::make_shared<counting>(), true);
  functions.name = "counting@2";
  own_loader<std::uint64_t> other{functions, {.rank = 1, .world_size = 2}};
  REQUIRE(code_of([&] { other.restore(at.path()); }) == errc::mismatch);
}

TEST_CASE("own_loader: what is missing is refused") {
  auto functions = functions_of(std::make_shared<counting>(), true);
  functions.load = nullptr;
  using adapted = own_loader<std::uint64_t>;
  REQUIRE(code_of([&] { adapted(functions, {}); }) == errc::invalid_argument);
  functions.save = nullptr;
  functions.name.clear();
  REQUIRE(code_of([&] { adapted(functions, {}); }) == errc::invalid_argument);
  functions.name = "counting@1";
  REQUIRE(code_of([&] { adapted(functions, {.rank = 1}); }) == errc::invalid_argument);
  functions.next = [] { return std::optional<std::uint64_t>{}; };
  adapted empty{functions, {}};
  REQUIRE(code_of([&] { empty.next(); }) == errc::empty_epoch);
}

} // namespace
} // namespace leat::own_loader_test
