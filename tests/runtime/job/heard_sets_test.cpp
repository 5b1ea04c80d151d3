#include "runtime/job/journal_retention.hpp"
#include "tests/support/test.hpp"

// journal_retention: what a rank releases by the sets that a coordinator has stored.
namespace leat::heard_sets_test {
namespace {

/// Notes what is released; nobody reads it.
class noted_source : public live_source {
public:
  state peek(std::uint64_t) override { return state::pending; }
  void wait(std::uint64_t, const std::atomic<bool>&) override {}
  void wake() override {}
  std::function<void()> on_change(std::function<void()>) override {
    return [] {};
  }
  void read(std::uint64_t, sample&) const override {}
  void append_id(std::uint64_t, std::string&) const override {}
  void release_below(std::uint64_t number, std::uint64_t, std::uint64_t) override {
    released = number;
  }
  void hold_from(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void check_holds(std::uint64_t, std::uint64_t) const override {}
  bool has_journal() const noexcept override { return true; }
  source_facts facts() const override { return {}; }
  std::string name() const override { return "noted"; }

  std::uint64_t released = 0;
};

/// A rank that saves a set at each step: the one of step n needs the records from 10 n on.
struct saving_rank {
  std::shared_ptr<noted_source> source = std::make_shared<noted_source>();
  journal_retention records{{source}, 1, 0, 1};

  void save(std::uint64_t step) {
    const auto needed = std::uint64_t{10} * step;
    const auto base = std::make_shared<lane_base>();
    base->state = item::from_bytes({}, {{.feed = 0, .lowest = needed, .behind = needed}});
    records.saving("sets", {.epoch = 0, .step = step},
                   {{.lane = 0, .mark = {.base = base, .when = {}}}});
  }
  /// Saves the sets of these steps, hears of each once it is stored, and says what was released.
  std::uint64_t hear(std::uint64_t from, std::uint64_t to, std::uint64_t keep) {
    for (auto step = from; step <= to; ++step) {
      save(step);
      records.heard_stored("sets", {.epoch = 0, .step = step}, keep);
    }
    return source->released;
  }
};

TEST_CASE("heard sets: what the sets that the coordinator keeps need is not released") {
  saving_rank x;
  CHECK(x.hear(1, 3, 3) == 0);
  CHECK(x.hear(4, 4, 3) == 20);
  CHECK(x.hear(5, 9, 3) == 70);
}

TEST_CASE("heard sets: a coordinator that begins later may keep more, or fewer") {
  saving_rank x;
  CHECK(x.hear(1, 4, 3) == 20);
  CHECK(x.hear(5, 11, 10) == 20);
  CHECK(x.hear(12, 12, 10) == 30);
  CHECK(x.hear(13, 13, 2) == 120);
}

TEST_CASE("heard sets: before the coordinator has said how many it keeps, nothing is released") {
  saving_rank x;
  CHECK(x.hear(1, 20, 0) == 0);
  CHECK(x.hear(21, 23, 2) == 220);
}

} // namespace
} // namespace leat::heard_sets_test
