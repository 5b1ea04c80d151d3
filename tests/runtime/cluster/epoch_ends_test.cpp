#include "runtime/cluster/epoch_ends.hpp"
#include "tests/support/test.hpp"

namespace leat::epoch_ends_test {
namespace {

/// What a job knows that looks at all that its ranks have said.
class plain_ends {
public:
  plain_ends(epoch_end rule, std::uint64_t world_size) : rule_(rule), ranks_(world_size) {}

  void state(std::uint64_t rank, const epoch_horizon& x) {
    auto& to = ranks_[rank];
    if (to && (to->is_final || (!x.is_final && x.batches <= to->batches)))
      return;
    to = x;
    epoch_horizon joined;
    bool are_all_final = true;
    bool has_least = false;
    bool have_all_said = true;
    for (const auto& one : ranks_) {
      have_all_said = have_all_said && one;
      are_all_final = are_all_final && one && one->is_final;
      if (one)
        joined.batches = rule_ != epoch_end::drop || !has_least
                             ? std::max(joined.batches, one->batches)
                             : std::min(joined.batches, one->batches);
      has_least = has_least || one;
    }
    joined.is_final = are_all_final;
    if (rule_ == epoch_end::drop) {
      if (!have_all_said)
        return;
      joined.is_final = std::any_of(ranks_.begin(), ranks_.end(), [&](const auto& one) {
        return one->is_final && one->batches == joined.batches;
      });
    }
    if (!known_.is_final && (joined.is_final || joined.batches > known_.batches))
      known_ = joined;
  }
  const epoch_horizon& known() const { return known_; }

private:
  epoch_end rule_;
  std::vector<std::optional<epoch_horizon>> ranks_;
  epoch_horizon known_;
};

TEST_CASE("epoch_ends: whoever says what, and when, the job knows what all of them have said") {
  std::mt19937_64 chance{static_cast<std::uint64_t>(GENERATE(take(20, random(0, 1 << 30))))};
  for (const auto rule : {epoch_end::drop, epoch_end::mask})
    for (const std::uint64_t ranks : {1, 2, 3, 20}) {
      epoch_ends ends{rule, ranks};
      plain_ends plain{rule, ranks};
      std::vector<epoch_horizon> at(ranks);
      for (std::size_t i = 0; i < 30 * ranks; ++i) {
        const auto rank = chance() % ranks;
        auto& x = at[rank];
        if (!x.is_final)
          x = {x.batches + chance() % 3, chance() % 20 == 0};
        auto said = x;
        if (chance() % 5 == 0)
          said = {said.batches / 2, false}; // an old message
        const auto before = ends.known().contains(7) ? ends.known().at(7) : epoch_horizon{};
        const bool rose = ends.state(7, rank, said);
        plain.state(rank, said);
        REQUIRE(ends.known().at(7) == plain.known());
        REQUIRE(rose == (ends.known().at(7) != before));
      }
    }
}

} // namespace
} // namespace leat::epoch_ends_test
