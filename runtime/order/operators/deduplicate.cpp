#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/order.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/option_words.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// Over all lanes.
constexpr std::uint64_t most_keys = std::uint64_t{1} << 32;

} // namespace

pipeline pipeline::deduplicate(std::vector<std::string> fields, std::uint64_t keys,
                               deduplicate_kind kind) const {
  constexpr auto stage = "deduplicate";
  if (fields.empty())
    refuse_argument(stage, "no fields", "at least one");
  for (const auto& x : fields)
    if (x.empty())
      refuse_argument(stage, "a field without a name", "the name of a field");
  if (keys == 0 || keys > most_keys)
    refuse_argument(stage, "keys=" + std::to_string(keys), "1 to " + std::to_string(most_keys));
  auto word = word_of(kind, deduplicate_kinds);
  if (word.empty())
    refuse_argument(stage, "another kind", list_of(deduplicate_kinds));
  return then(
      {.op = stage,
       .options = {{"fields", std::move(fields)}, {"keys", keys}, {"kind", std::move(word)}}});
}

namespace {

/// Hashes in the order in which they came, at most as many as there is room for.
class key_window {
public:
  explicit key_window(std::uint64_t capacity) : capacity_(capacity) {}

  bool has(std::uint64_t key) const { return known_.contains(key); }
  bool is_full() const noexcept { return order_.size() == capacity_; }

  /// A new one, in the place of the oldest if it is full.
  void add(std::uint64_t key) {
    if (is_full()) {
      known_.erase(std::exchange(order_[oldest_], key));
      oldest_ = (oldest_ + 1) % order_.size();
    } else {
      order_.push_back(key);
    }
    known_.insert(key);
  }

  /// 8 bytes each, little-endian, the oldest first.
  std::string bytes() const {
    std::string all;
    all.reserve(order_.size() * key_bytes);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::size_t shift = 0; shift < 8 * key_bytes; shift += 8)
        all += static_cast<char>(order_[(oldest_ + i) % order_.size()] >> shift);
    return all;
  }

  /// Throws `errc::bad_snapshot`.
  void add_bytes(std::string_view all) {
    if (all.size() % key_bytes != 0 || all.size() / key_bytes > capacity_)
      refuse_state(counted(all.size(), "byte") + " of keys",
                   "at most " + counted(capacity_, "key") + " of 8 bytes");
    for (; !all.empty(); all.remove_prefix(key_bytes)) {
      std::uint64_t key = 0;
      for (std::size_t i = 0; i < key_bytes; ++i)
        key |= std::uint64_t{static_cast<unsigned char>(all[i])} << (8 * i);
      if (has(key))
        refuse_state("a key twice", "each once");
      add(key);
    }
  }

private:
  static constexpr std::size_t key_bytes = 8;

  std::uint64_t capacity_;
  std::vector<std::uint64_t> order_;
  std::unordered_set<std::uint64_t> known_;
  std::size_t oldest_ = 0;
};

class deduplicate_iterator final : public iterator {
public:
  deduplicate_iterator(edge_iterator input, std::uint64_t capacity, deduplicate_kind kind,
                       const lane_context& lane)
      : input_(input), keys_(capacity), capacity_(capacity), kind_(kind), lane_(lane) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    probe_result found;
    do {
      into.cut(begin);
      const auto result = input_.pull(into, found);
      if (result != pulled::item || found.bad)
        return result;
      if (!keys_.has(found.number)) {
        keep(found.number);
        return result;
      }
    } while (lane_.run->may_go_on());
    into.cut(begin);
    return pulled::blocked;
  }
  void save(item& to) const override {
    to.add(keys_.bytes());
    input_.save(to);
  }
  void load(item_reader& from) override {
    keys_.add_bytes(from.text());
    input_.load(from);
  }

private:
  void keep(std::uint64_t key) {
    if (kind_ == deduplicate_kind::set && keys_.is_full())
      refuse_argument("deduplicate",
                      "more than " + std::to_string(capacity_) + " different samples in lane "
                          + std::to_string(lane_.lane),
                      "more keys, or kind=\"window\", which forgets the oldest ones");
    keys_.add(key);
  }

  edge_iterator input_;
  key_window keys_;
  std::uint64_t capacity_;
  deduplicate_kind kind_;
  lane_context lane_;
};

class deduplicate_form final : public over_input<edge_form> {
public:
  deduplicate_form(edge_ptr input, std::uint64_t keys, deduplicate_kind kind)
      : over_input(std::move(input)), keys_(keys), kind_(kind) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<deduplicate_iterator>(input().begin(lane, g),
                                                  share(keys_, lane.lane, lane.lanes), kind_, lane);
  }

private:
  std::uint64_t keys_;
  deduplicate_kind kind_;
};

std::uint64_t key_of(const sample& x, const std::vector<std::string>& fields) {
  hash_stream hash;
  for (const auto& field : fields)
    hash.add(x.text(field));
  return hash.digest64();
}

iterator_form_ptr build_deduplicate(const operator_node& x, const surroundings& at,
                                    iterator_planner& planner) {
  const auto& fields = x.get<std::vector<std::string>>("fields");
  auto input = planner.build_edge(x, at, [fields](sample& s, sample_maker&) {
    return probe_result{.number = key_of(s, fields)};
  });
  const auto keys = x.get<std::uint64_t>("keys");
  if (keys < planner.lanes())
    planner.refuse(x, counted(keys, "key") + " over " + counted(planner.lanes(), "lane"),
                   "at least 1 per lane: " + std::to_string(planner.lanes()));
  return std::make_shared<deduplicate_form>(std::move(input), keys,
                                            value_of(x, "kind", deduplicate_kinds));
}

state_sizes deduplicate_sizes(const operator_node& x, const graph_facts& facts) {
  const auto held = share(x.get<std::uint64_t>("keys"), 0, facts.lanes);
  return {"up to " + counted(held, "key"), 5 + held * 8, facts.item};
}

} // namespace

operator_type deduplicate_operator() {
  return {.word = "deduplicate",
          .role = operator_role::step,
          .options = {plain("fields", option_type::texts),
                      {"keys", option_type::number},
                      one_of("kind", deduplicate_kinds, deduplicate_kind::window)},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].deduplicate(call.get<std::vector<std::string>>("fields"),
                                         call.get<std::uint64_t>("keys"),
                                         value_of(call, "kind", deduplicate_kinds));
              },
          .traits = {.probes_content = [](const operator_node&) { return true; }},
          .forms = {.iterator = build_deduplicate, .state_version = 1},
          .graph = {.state = deduplicate_sizes}};
}

} // namespace leat
