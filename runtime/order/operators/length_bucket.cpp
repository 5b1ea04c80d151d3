#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/operators/field_length.hpp"
#include "runtime/order/order.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

pipeline pipeline::length_bucket(std::string field, std::vector<std::uint64_t> boundaries,
                                 length_bucket_options options) const {
  check_field("length_bucket", field);
  check_range("length_bucket.boundaries", boundaries.size(), 1, max_boundaries);
  if (const auto x =
          std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>{});
      x != boundaries.end())
    refuse_argument("length_bucket.boundaries",
                    std::to_string(x[1]) + " after " + std::to_string(x[0]), "rising numbers");
  check_range("length_bucket.group", options.group, 1, max_batch_rows);
  check_range("length_bucket.window", options.window, options.group, max_buffered);
  return then({.op = "length_bucket",
               .options = {{"field", std::move(field)},
                           {"boundaries", std::move(boundaries)},
                           {"group", options.group},
                           {"window", options.window}}});
}

namespace {

/// What a lane does: its shares of `group` and `window`.
struct bucket_plan {
  std::vector<std::uint64_t> boundaries = {};
  std::uint64_t group = 1;
  std::uint64_t window = 1;

  std::size_t bucket_of(std::uint64_t length) const {
    return static_cast<std::size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), length)
                                    - boundaries.begin());
  }
};

class bucket_iterator final : public iterator {
public:
  bucket_iterator(bucket_plan plan, const edge_form& input, const lane_context& lane, const lap& g)
      : plan_(std::move(plan)), items_(input), input_(input.begin(lane, g)), lane_(lane),
        buckets_(plan_.boundaries.size() + 1) {}

  pulled pull(item& into) override {
    while (ready_.empty() && !ended_) {
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      item next;
      probe_result found;
      const auto result = input_.pull(next, found);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      if (ended_)
        give_rest();
      else
        hold(plan_.bucket_of(found.bad ? 0 : found.number), std::move(next));
    }
    if (ready_.empty())
      return pulled::end;
    into.append(std::move(ready_.front()));
    ready_.pop_front();
    return pulled::item;
  }

  void save(item& to) const override {
    input_.save(to);
    to.add(ended_ ? 1 : 0);
    to.add(ready_.size());
    for (const auto& x : ready_)
      to.hold(x);
    save_waiting(to);
  }

  void load(item_reader& from) override {
    input_.load(from);
    ended_ = from.number(1) == 1;
    for (auto left = from.number(ended_ ? plan_.window : plan_.group, "items"); left > 0; --left)
      ready_.push_back(held_item(items_, from));
    // A bucket with a group, or as many items as a lane holds, would have been given.
    for (auto left = from.number(ended_ ? 0 : plan_.window - 1, "items"); left > 0; --left) {
      const auto bucket = from.number_below(buckets_.size(), "bucket");
      if (buckets_[bucket].size() + 1 == plan_.group)
        refuse_state("a whole group that waits", "fewer items in a bucket");
      buckets_[bucket].push_back({waiting_++, held_item(items_, from)});
    }
    came_ = waiting_;
  }

private:
  struct entry {
    /// Rises from item to item.
    std::uint64_t came = 0;
    item what;
  };
  using bucket = std::deque<entry>;

  /// In the order in which they came: numbers that only say which came first are not kept.
  void save_waiting(item& to) const {
    std::vector<std::pair<const entry*, std::size_t>> all;
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      for (const auto& x : buckets_[i])
        all.emplace_back(&x, i);
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first->came < b.first->came; });
    to.add(all.size());
    for (const auto& [x, i] : all) {
      to.add(i);
      to.hold(x->what);
    }
  }

  void hold(std::size_t i, item x) {
    x.drop_surroundings(); // as many blocks as there are items would be held
    buckets_[i].push_back({came_++, std::move(x)});
    ++waiting_;
    if (buckets_[i].size() == plan_.group)
      give(i, plan_.group);
    else if (waiting_ == plan_.window)
      give_oldest();
  }

  /// Gives the next items of a bucket, `most` of them if there are so many; returns how many.
  std::uint64_t give(std::size_t i, std::uint64_t most) {
    auto& from = buckets_[i];
    const auto given = std::min<std::uint64_t>(most, from.size());
    for (auto left = given; left > 0; --left) {
      ready_.push_back(std::move(from.front().what));
      from.pop_front();
    }
    waiting_ -= given;
    return given;
  }

  /// Gives a group around the item that has waited longest: a group of fewer would shift all that
  /// come later against the batches.
  void give_oldest() {
    const auto came = [](const bucket& x) { return x.empty() ? UINT64_MAX : x.front().came; };
    const auto oldest = static_cast<std::size_t>(
        std::min_element(buckets_.begin(), buckets_.end(),
                         [&](const bucket& a, const bucket& b) { return came(a) < came(b); })
        - buckets_.begin());
    auto missing = plan_.group - give(oldest, plan_.group);
    for (std::size_t away = 1; missing > 0; ++away) {
      if (away <= oldest)
        missing -= give(oldest - away, missing);
      if (away < buckets_.size() - oldest)
        missing -= give(oldest + away, missing);
    }
  }

  void give_rest() {
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      give(i, plan_.group);
  }

  bucket_plan plan_;
  const edge_form& items_;
  edge_iterator input_;
  lane_context lane_;
  bool ended_ = false;
  /// The items that come next.
  std::deque<item> ready_;
  /// One more than there are boundaries; in each, items as they came.
  std::vector<bucket> buckets_;
  /// Number of items in all buckets.
  std::uint64_t waiting_ = 0;
  std::uint64_t came_ = 0;
};

class bucket_form final : public over_input<edge_form> {
public:
  bucket_form(edge_ptr input, bucket_plan all_lanes)
      : over_input(std::move(input)), all_lanes_(std::move(all_lanes)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    auto plan = all_lanes_;
    plan.group /= lane.lanes;
    plan.window = share(plan.window, lane.lane, lane.lanes);
    return std::make_unique<bucket_iterator>(std::move(plan), input(), lane, g);
  }

private:
  bucket_plan all_lanes_;
};

state_sizes bucket_sizes(const operator_node& x, const graph_facts& facts) {
  const auto held = share(x.get<std::uint64_t>("window"), 0, facts.lanes);
  state_sizes sizes{.what = "up to " + counted(held, "item"), .bytes = {}, .item = facts.item};
  if (facts.item)
    sizes.bytes = 5 + held * (*facts.item + 2);
  return sizes;
}

iterator_form_ptr build_buckets(const operator_node& x, const surroundings& at,
                                iterator_planner& planner) {
  auto input = planner.build_edge(
      x, at, [field = x.get<std::string>("field")](const sample& s, sample_maker&) {
        return probe_result{.number = field_length(s, field)};
      });
  const auto group = x.get<std::uint64_t>("group");
  if (group % planner.lanes() != 0)
    planner.refuse(
        x, "a group of " + std::to_string(group) + " over " + counted(planner.lanes(), "lane"),
        "a multiple of the lanes: the rows of the batch");
  return std::make_shared<bucket_form>(
      std::move(input), bucket_plan{.boundaries = x.get<std::vector<std::uint64_t>>("boundaries"),
                                    .group = group,
                                    .window = x.get<std::uint64_t>("window")});
}

} // namespace

operator_type length_bucket_operator() {
  using enum option_type;
  return {.word = "length_bucket",
          .role = operator_role::step,
          .options = {plain("field", text),
                      plain("boundaries", numbers),
                      {"group", number},
                      {"window", number}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].length_bucket(call.get<std::string>("field"),
                                           call.get<std::vector<std::uint64_t>>("boundaries"),
                                           {.group = call.get<std::uint64_t>("group"),
                                            .window = call.get<std::uint64_t>("window")});
              },
          .traits = {.probes_content = [](const operator_node&) { return true; }},
          .forms = {.iterator = build_buckets, .state_version = 1},
          .graph = {.state = bucket_sizes}};
}

} // namespace leat
