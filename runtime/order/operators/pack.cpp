#include "runtime/base/limits.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/operators/pack_bins.hpp"
#include "runtime/order/operators/pack_content.hpp"
#include "runtime/order/operators/pack_plan.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// Integers up to here, and the one after, are doubles, as which options hold them.
constexpr std::int64_t largest_index = (std::int64_t{1} << 53) - 1;

std::vector<std::uint64_t> list_of(const std::optional<std::uint64_t>& x) {
  return x ? std::vector{*x} : std::vector<std::uint64_t>{};
}

/// The fields that a pack adds to its own; `has` tells whether the option of that name is set.
template <class Has>
std::vector<std::string_view> added_fields(Has has) {
  std::vector<std::string_view> names;
  for (const auto* name : {"segment", "offset", "labels", "cu_seqlens"})
    if (has(name))
      names.emplace_back(name);
  if (has("cu_seqlens"))
    names.emplace_back("longest");
  return names;
}

std::vector<std::string_view> added_fields(const pack_options& x) {
  return added_fields([&](std::string_view name) {
    return name == "segment"  ? x.segment
           : name == "offset" ? x.offset
           : name == "labels" ? x.labels
                              : x.cu_seqlens;
  });
}

void check_pack(const std::string& field, const pack_options& options) {
  for (const auto name : added_fields(options))
    if (field == name)
      refuse_argument("pack", "the field \"" + field + '"',
                      "another name: pack adds a field of this one");
  check_range("pack.bins", options.bins, 1, max_bins);
  if (options.split && options.cut == pack_cut::above)
    refuse_argument("pack", "split and cut=\"above\"", "one of them");
  const auto index = std::to_string(options.ignore_index);
  if (!options.labels && options.ignore_index != pack_options{}.ignore_index)
    refuse_argument("pack.ignore_index", index + " without labels", "labels=true");
  if (options.ignore_index < -largest_index || options.ignore_index > largest_index)
    refuse_argument("pack.ignore_index", index, "above -2^53 and below 2^53");
}

} // namespace

pipeline pipeline::pack(std::string field, std::uint64_t length, pack_options options) const {
  check_field("pack", field);
  if (length == 0 || length > longest_pack)
    refuse_argument("pack.length", std::to_string(length), "1 to " + std::to_string(longest_pack));
  check_pack(field, options);
  const bool split = options.split || options.cut == pack_cut::always;
  return then({.op = "pack",
               .options = {{"field", std::move(field)},
                           {"length", length},
                           {"bins", split ? std::uint64_t{1} : options.bins},
                           {"split", split},
                           {"delimiter", list_of(options.delimiter)},
                           {"pad", options.pad},
                           {"fit", word_of(split ? pack_fit::first : options.fit, pack_fits)},
                           {"cut", word_of(split ? pack_cut::never : options.cut, pack_cuts)},
                           {"labels", options.labels},
                           {"ignore_index", static_cast<double>(options.ignore_index)},
                           {"cu_seqlens", options.cu_seqlens},
                           {"segment", options.segment},
                           {"offset", options.offset}}});
}

namespace {

class pack_iterator final : public iterator {
public:
  pack_iterator(const pack_plan& plan, const edge_form& input, const lane_context& lane,
                const lap& g)
      : bins_(plan), documents_(input), input_(input.begin(lane, g)), lane_(lane) {}

  pulled pull(item& into) override {
    while (!bins_.has_closed() && !ended_) {
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      item document;
      probe_result found;
      const auto result = input_.pull(document, found);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      if (ended_)
        bins_.close_all();
      else
        bins_.place(std::move(document), found);
    }
    if (!bins_.has_closed())
      return pulled::end;
    bins_.give(into);
    return pulled::item;
  }

  void save(item& to) const override {
    input_.save(to);
    to.add(ended_ ? 1 : 0);
    bins_.save(to);
  }
  void load(item_reader& from) override {
    input_.load(from);
    ended_ = from.number(1) == 1;
    bins_.load(from, ended_, documents_);
  }

private:
  pack_bins bins_;
  const edge_form& documents_;
  edge_iterator input_;
  lane_context lane_;
  bool ended_ = false;
};

class pack_form final : public iterator_form {
public:
  pack_form(edge_ptr input, pack_plan plan) : input_(std::move(input)), plan_(std::move(plan)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<pack_iterator>(plan_, *input_, lane, g);
  }

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    identify(into, *this, start, at, with.orders());
    pack_content pack{plan_, into};
    hash_stream sample_keys;
    for (auto left = from.number(); left > 0; --left) {
      const auto x = read_range(plan_, from);
      auto& document = with.side_sample(plan_.side);
      const auto make = [&] { return input_->make(from, at, document, with); };
      const auto sample_key = x.from == 0 ? make() : with.make_again(make);
      pack.add(document, x.from, x.to);
      sample_keys.add(x.to ? sample_key_of_part(sample_key, x.from, *x.to) : sample_key);
    }
    with.count_packed(plan_.length, pack.finish());
    return with.needs_sample_keys() ? sample_keys.digest64() : 0;
  }

  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    char before = '(';
    for (auto left = from.number(); left > 0; --left) {
      const auto x = read_range(plan_, from);
      to += std::exchange(before, '+');
      input_->append_id(from, at, orders, to);
      if (x.to)
        to += '@' + std::to_string(x.from) + '-' + std::to_string(*x.to);
    }
    to += ')';
  }
  void recall(item_reader& from, restored_content& to) const override {
    for (auto left = from.number(); left > 0; --left) {
      read_range(plan_, from);
      input_->recall(from, to);
    }
  }

private:
  static std::uint64_t sample_key_of_part(std::uint64_t sample_key, std::uint64_t from,
                                          std::uint64_t to) {
    const std::array<std::uint64_t, 3> words{sample_key, from, to};
    return xxh3_128(std::as_bytes(std::span{words})).low;
  }

  edge_ptr input_;
  pack_plan plan_;
};

/// What the edge finds: a document's elements, delimiter included. Throws `bad_sample` for a field
/// that cannot be packed.
probe_result probe_document(const pack_plan& plan, const sample& x) {
  const auto layout = sample_access::layout_of(x, plan.field);
  if (layout.dims.rank() != (layout.ragged ? 0 : 1))
    throw bad_sample(cause::wrong_shape,
                     "got " + to_string(layout) + ", a pack needs rank 1 or bytes");
  const auto elements = x.bytes(plan.field).size() / size_of(layout.type);
  const auto size = elements + plan.delimiters();
  if (size > longest_pack)
    throw bad_sample(cause::too_large, "a document of " + std::to_string(size)
                                           + " elements; they are numbered up to "
                                           + std::to_string(longest_pack));
  if (!plan.cuts() && size > plan.length)
    throw bad_sample(cause::too_large, "a document of " + std::to_string(size)
                                           + " elements; a pack has " + std::to_string(plan.length)
                                           + ": cut=\"above\" cuts only those, split=true cuts "
                                             "wherever a pack is full, truncate@1 shortens");
  return {.number = size};
}

/// An option whose list has one value or none.
std::optional<std::uint64_t> at_most_one(const operator_node& call, const std::string& option) {
  const auto& list = call.get<std::vector<std::uint64_t>>(option);
  if (list.size() > 1)
    refuse_argument(call.op, option + " with " + std::to_string(list.size()) + " numbers",
                    "one, or none");
  return list.empty() ? std::nullopt : std::optional{list.front()};
}

/// A number of an option that holds any. Throws `errc::invalid_argument` for fractions, and for
/// numbers that are not in the range of such an option.
std::int64_t whole_number(const operator_node& call, const std::string& option) {
  const auto x = call.get<double>(option);
  if (x != std::trunc(x) || std::abs(x) > static_cast<double>(largest_index))
    refuse_argument(call.op + '.' + option, number_text(x),
                    "a whole number above -2^53 and below 2^53");
  return static_cast<std::int64_t>(x);
}

pack_options options_of(const operator_node& x) {
  return {.bins = x.get<std::uint64_t>("bins"),
          .split = x.get<bool>("split"),
          .delimiter = at_most_one(x, "delimiter"),
          .pad = x.get<std::uint64_t>("pad"),
          .fit = value_of(x, "fit", pack_fits),
          .cut = value_of(x, "cut", pack_cuts),
          .labels = x.get<bool>("labels"),
          .ignore_index = whole_number(x, "ignore_index"),
          .cu_seqlens = x.get<bool>("cu_seqlens"),
          .segment = x.get<bool>("segment"),
          .offset = x.get<bool>("offset")};
}

iterator_form_ptr build_pack(const operator_node& x, const surroundings& at,
                             iterator_planner& planner) {
  pack_plan plan{options_of(x)};
  plan.field = x.get<std::string>("field");
  plan.length = x.get<std::uint64_t>("length");
  plan.side = planner.common().add_side_samples(1);
  auto input = planner.build_edge(
      x, at, [plan](sample& s, sample_maker&) { return probe_document(plan, s); }, plan.field);
  return std::make_shared<pack_form>(std::move(input), std::move(plan));
}

pipeline make_pack(const operator_node& call, const std::vector<pipeline>& on) {
  return on[0].pack(call.get<std::string>("field"), call.get<std::uint64_t>("length"),
                    options_of(call));
}

} // namespace

operator_type pack_operator() {
  using enum option_type;
  return {
      .word = "pack",
      .role = operator_role::step,
      .options = {plain("field", text),
                  plain("length", number),
                  {"bins", number, std::uint64_t{8}},
                  {"split", flag, false},
                  {"delimiter", numbers, std::vector<std::uint64_t>{}},
                  {"pad", number, std::uint64_t{0}},
                  later(one_of("fit", pack_fits, pack_fit::first)),
                  later(one_of("cut", pack_cuts, pack_cut::never)),
                  later({"labels", flag, false}),
                  later({"ignore_index", real, -100.0}),
                  later({"cu_seqlens", flag, false}),
                  later({"segment", flag, true}),
                  later({"offset", flag, true})},
      .make = make_pack,
      .traits = {.probes_content = [](const operator_node&) { return true; },
                 .sure_fields =
                     [](const operator_node& x, std::vector<field_names>&) {
                       field_names names{x.get<std::string>("field")};
                       for (const auto name :
                            added_fields([&](const char* option) { return x.get<bool>(option); }))
                         names.emplace(name);
                       return names;
                     }},
      .forms = {.iterator = build_pack, .state_version = 1},
      .graph = {.state = [](const operator_node& x, const graph_facts&) -> state_sizes {
                  return {"documents of " + counted(x.get<std::uint64_t>("bins"), "open sample"),
                          std::nullopt, std::nullopt};
                },
                .work = [](const operator_node& x) -> std::string { return x.op; }}};
}

} // namespace leat
