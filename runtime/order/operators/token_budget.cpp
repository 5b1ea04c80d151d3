#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/operators/field_length.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leat {

pipeline pipeline::token_budget(std::string field, std::uint64_t tokens,
                                token_budget_options options) const {
  check_field("token_budget", field);
  check_range("token_budget.rows", options.rows, 1, max_batch_rows);
  check_range("token_budget.tokens", tokens, 1, max_batch_tokens);
  return then({.op = "token_budget",
               .options = {{"field", std::move(field)},
                           {"tokens", tokens},
                           {"rows", options.rows},
                           {"padded", options.padded}}});
}

namespace {

/// A lane's share of one batch.
struct lane_budget {
  std::uint64_t rows = 1;
  std::uint64_t tokens = 1;
  bool padded = false;
};

/// What a lane has given to its share of a batch.
struct lane_share {
  std::uint64_t rows = 0;
  /// The tokens of these rows, or if batches are padded those of the longest.
  std::uint64_t tokens = 0;

  lane_share with(std::uint64_t length, bool padded) const {
    return {rows + 1, padded ? std::max(tokens, length) : tokens + length};
  }
  bool fits(const lane_budget& x) const {
    return rows <= x.rows && tokens * (x.padded ? rows : 1) <= x.tokens;
  }
};

class budget_iterator final : public iterator {
public:
  budget_iterator(const lane_budget& budget, const edge_form& input, const lane_context& lane,
                  const lap& g)
      : budget_(budget), items_(input), input_(input.begin(lane, g)), lane_(lane) {}

  pulled pull(item& into) override {
    if (!is_closed_ && !waiting_ && !is_over_) {
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      entry next;
      probe_result found;
      const auto result = input_.pull(next.what, found);
      if (result == pulled::blocked)
        return result;
      if (result == pulled::end) {
        is_over_ = true;
        is_closed_ = given_.rows > 0; // the next epoch begins with a batch of its own
      } else {
        next.what.drop_surroundings(); // it may wait for a batch
        next.length = found.bad ? 0 : found.number;
        waiting_ = std::move(next);
      }
    }
    if (waiting_ && !is_closed_) {
      const auto more = given_.with(waiting_->length, budget_.padded);
      is_closed_ = !more.fits(budget_);
      if (!is_closed_) {
        into.append(std::move(waiting_->what));
        waiting_.reset();
        count(more);
        return pulled::item;
      }
    }
    if (!is_closed_)
      return pulled::end;
    count({given_.rows + 1, given_.tokens});
    return pulled::blank;
  }

  void save(item& to) const override {
    input_.save(to);
    to.add(is_over_ ? 1 : 0);
    to.add(is_closed_ ? 1 : 0);
    to.add(given_.rows);
    to.add(given_.tokens);
    to.add(waiting_ ? 1 : 0);
    if (waiting_) {
      to.add(waiting_->length);
      to.hold(waiting_->what);
    }
  }

  void load(item_reader& from) override {
    input_.load(from);
    is_over_ = from.number(1) == 1;
    is_closed_ = from.number(1) == 1;
    given_.rows = from.number_below(budget_.rows, "rows of a batch");
    given_.tokens = from.number(given_.rows == 0 ? 0 : budget_.tokens, "tokens of a batch");
    if (is_closed_ && given_.rows == 0)
      refuse_state("a batch that is full, without a row", "a row");
    if (from.number(1) == 0)
      return;
    if (is_over_)
      refuse_state("a sample that waits after the last one", "none");
    const auto length = from.number(budget_.tokens, "tokens of a sample");
    waiting_ = entry{length, held_item(items_, from)};
  }

private:
  struct entry {
    std::uint64_t length = 0;
    item what = {};
  };

  void count(const lane_share& now) {
    given_ = now;
    if (given_.rows < budget_.rows)
      return;
    given_ = {};
    is_closed_ = false;
  }

  lane_budget budget_;
  const edge_form& items_;
  edge_iterator input_;
  lane_context lane_;
  bool is_over_ = false;
  /// The batch gets no more samples: blanks fill it up.
  bool is_closed_ = false;
  lane_share given_;
  /// The item that comes next, perhaps in a later batch.
  std::optional<entry> waiting_;
};

class budget_form final : public over_input<edge_form> {
public:
  budget_form(edge_ptr input, const lane_budget& budget)
      : over_input(std::move(input)), budget_(budget) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<budget_iterator>(budget_, input(), lane, g);
  }

private:
  lane_budget budget_;
};

/// Throws `bad_sample` for a field that has no length, or is longer than a batch can hold.
std::uint64_t length_within(const sample& x, const std::string& field, std::uint64_t most) {
  const auto length = field_length(x, field);
  if (length > most)
    throw bad_sample(cause::too_large, "\"" + field + "\" of " + std::to_string(length)
                                           + " tokens; a lane's share of a batch is "
                                           + std::to_string(most));
  return length;
}

iterator_form_ptr build_budget(const operator_node& x, const surroundings& at,
                               iterator_planner& planner) {
  const auto lanes = planner.lanes();
  const auto rows = x.get<std::uint64_t>("rows");
  const auto tokens = x.get<std::uint64_t>("tokens");
  const lane_budget budget{.rows = std::max<std::uint64_t>(1, rows / lanes),
                           .tokens = tokens / lanes,
                           .padded = x.get<bool>("padded")};
  auto input = planner.build_edge(
      x, at,
      [field = x.get<std::string>("field"), most = budget.tokens](const sample& s, sample_maker&) {
        return probe_result{.number = length_within(s, field, most)};
      });
  if (tokens < lanes)
    planner.refuse(x, counted(tokens, "token") + " over " + counted(lanes, "lane"),
                   "at least one token for each lane");
  return std::make_shared<budget_form>(std::move(input), budget);
}

state_sizes budget_sizes(const operator_node&, const graph_facts& facts) {
  return {.what = "up to 1 item", .bytes = plus(facts.item, 10), .item = facts.item};
}

} // namespace

operator_type token_budget_operator() {
  using enum option_type;
  return {.word = "token_budget",
          .role = operator_role::step,
          .options = {plain("field", text),
                      plain("tokens", number),
                      {"rows", number},
                      {"padded", flag, false}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].token_budget(
                    call.get<std::string>("field"), call.get<std::uint64_t>("tokens"),
                    {.rows = call.get<std::uint64_t>("rows"), .padded = call.get<bool>("padded")});
              },
          .traits = {.ends_pipeline = true,
                     .probes_content = [](const operator_node&) { return true; }},
          .forms = {.iterator = build_budget, .state_version = 1},
          .graph = {.state = budget_sizes}};
}

} // namespace leat
