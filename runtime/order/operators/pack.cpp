#include "runtime/base/limits.hpp"
#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace leat {

namespace {

/// Elements are numbered by int32.
constexpr std::uint64_t longest_row = std::numeric_limits<std::int32_t>::max();

std::vector<std::uint64_t> list_of(const std::optional<std::uint64_t>& x) {
  return x ? std::vector{*x} : std::vector<std::uint64_t>{};
}

} // namespace

pipeline pipeline::pack(std::string field, std::uint64_t length, pack_options options) const {
  check_field("pack", field);
  if (length == 0 || length > longest_row)
    refuse_argument("pack.length", std::to_string(length), "1 to " + std::to_string(longest_row));
  check_range("pack.bins", options.bins, 1, max_bins);
  return then({.op = "pack",
               .options = {{"field", std::move(field)},
                           {"length", length},
                           {"bins", options.split ? std::uint64_t{1} : options.bins},
                           {"split", options.split},
                           {"delimiter", list_of(options.delimiter)},
                           {"pad", options.pad}}});
}

namespace {

struct pack_plan {
  std::string field;
  std::uint64_t length = 1;
  std::uint64_t bins = 1;
  bool split = false;
  std::vector<std::uint64_t> delimiter = {};
  std::uint64_t pad = 0;
  std::size_t side = 0;
};

/// Elements `from` to `to` of a document; the whole document if `to` is not set.
struct part {
  item document;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> to = {};
};

void write(const part& x, item& to, bool with_payloads) {
  to.add(x.to ? 1 : 0);
  if (x.to) {
    to.add(x.from);
    to.add(*x.to);
  }
  if (with_payloads)
    to.append(x.document);
  else
    to.hold(x.document);
}

/// A range of elements, without its document: the whole of it if `to` is not set.
struct part_range {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> to = {};
};

part_range read_range(const pack_plan& plan, item_reader& from) {
  part_range x;
  if (from.number(1) == 0)
    return x;
  x.from = from.number();
  x.to = from.number();
  if (!plan.split || *x.to <= x.from || *x.to - x.from > plan.length)
    refuse_state("elements " + std::to_string(x.from) + " to " + std::to_string(*x.to)
                     + " of a document in a pack of " + std::to_string(plan.length),
                 plan.split ? "a part that a pack holds" : "whole documents");
  return x;
}

part read_part(const pack_plan& plan, item_reader& from) {
  const auto x = read_range(plan, from);
  return {.document = from.held(), .from = x.from, .to = x.to};
}

struct bin {
  std::uint64_t elements = 0;
  std::vector<part> parts;
};

void save_bins(const std::deque<bin>& bins, item& to) {
  to.add(bins.size());
  for (const auto& x : bins) {
    to.add(x.elements);
    to.add(x.parts.size());
    for (const auto& p : x.parts)
      write(p, to, false);
  }
}

/// `most` limits the number of bins, `most_elements` the elements in each.
std::deque<bin> load_bins(const pack_plan& plan, std::uint64_t most, std::uint64_t most_elements,
                          item_reader& from) {
  std::deque<bin> bins;
  for (auto left = from.number(most, "bins"); left > 0; --left) {
    auto& x = bins.emplace_back();
    x.elements = from.number(most_elements, "elements in a bin");
    auto parts = from.number();
    if (parts == 0)
      refuse_state("a bin without documents", "one at least");
    for (; parts > 0; --parts)
      x.parts.push_back(read_part(plan, from));
  }
  return bins;
}

class pack_iterator final : public iterator {
public:
  pack_iterator(const pack_plan& plan, edge_iterator input, const lane_context& lane)
      : plan_(plan), input_(input), lane_(lane) {}

  pulled pull(item& into) override {
    while (closed_.empty() && !ended_) {
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      item document;
      probe_result found;
      const auto result = input_.pull(document, found);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      if (ended_)
        close_all();
      else
        place(std::move(document), found);
    }
    if (closed_.empty())
      return pulled::end;
    into.add(closed_.front().parts.size());
    for (const auto& x : closed_.front().parts)
      write(x, into, true);
    closed_.pop_front();
    return pulled::item;
  }

  void save(item& to) const override {
    input_.save(to);
    to.add(ended_ ? 1 : 0);
    save_bins(open_, to);
    save_bins(closed_, to);
  }
  void load(item_reader& from) override {
    input_.load(from);
    ended_ = from.number(1) == 1;
    // A full bin is closed, and at the end all bins are.
    open_ = load_bins(plan_, ended_ ? 0 : plan_.split ? 1 : plan_.bins, plan_.length - 1, from);
    closed_ = load_bins(plan_, UINT64_MAX, plan_.length, from);
  }

private:
  void place(item document, const probe_result& found) {
    if (found.bad)
      closed_.push_back({0, {{.document = std::move(document)}}});
    else if (plan_.split)
      fill(document, found.number);
    else
      put(std::move(document), found.number);
  }

  /// Puts a document into the first bin that has room (first fit).
  void put(item document, std::uint64_t elements) {
    auto fits = std::find_if(open_.begin(), open_.end(),
                             [&](const bin& x) { return elements <= plan_.length - x.elements; });
    if (fits == open_.end()) {
      if (open_.size() == plan_.bins)
        close(std::max_element(open_.begin(), open_.end(),
                               [](const bin& a, const bin& b) { return a.elements < b.elements; })
              - open_.begin());
      open_.emplace_back();
      fits = open_.end() - 1;
    }
    fits->elements += elements;
    fits->parts.push_back({.document = std::move(document)});
    if (fits->elements == plan_.length)
      close(fits - open_.begin());
  }

  /// Fills one bin after the other, however often the document has to be split.
  void fill(const item& document, std::uint64_t elements) {
    std::uint64_t done = 0;
    while (done < elements) {
      if (open_.empty())
        open_.emplace_back();
      auto& now = open_.front();
      const auto taken = std::min(elements - done, plan_.length - now.elements);
      part x{.document = document};
      if (taken < elements) {
        x.from = done;
        x.to = done + taken;
      }
      now.parts.push_back(std::move(x));
      now.elements += taken;
      done += taken;
      if (now.elements == plan_.length)
        close(0);
    }
  }

  void close(std::ptrdiff_t x) {
    closed_.push_back(std::move(open_[static_cast<std::size_t>(x)]));
    open_.erase(open_.begin() + x);
  }

  void close_all() {
    while (!open_.empty())
      close(0);
  }

  const pack_plan& plan_;
  edge_iterator input_;
  lane_context lane_;
  bool ended_ = false;
  std::deque<bin> open_;
  std::deque<bin> closed_;
};

/// The bytes of an element that the plan gives as an integer. Throws `bad_sample` if the documents'
/// type cannot represent it.
std::array<std::byte, 8> element_bytes(std::uint64_t x, dtype type, std::string_view field) {
  std::array<std::byte, 8> bytes{};
  visit_type(type, [&](auto zero) {
    const auto element = element_of<decltype(zero)>(x, field);
    std::memcpy(bytes.data(), &element, sizeof element);
  });
  return bytes;
}

/// Assembles documents into a sample's fields.
class assembly {
public:
  assembly(const pack_plan& plan, sample& into) : plan_(plan), into_(into) {}

  /// Adds elements `first` to `last`, delimiter included; the whole document if `last` is not set.
  void add(const sample& document, std::uint64_t first, std::optional<std::uint64_t> last) {
    const auto layout = sample_access::layout_of(document, plan_.field);
    if (!data_)
      begin(layout.type);
    else if (type_ != layout.type)
      throw bad_sample(cause::wrong_shape, "documents of " + std::string{to_string(type_)} + " and "
                                               + to_string(layout) + " in one pack");
    const auto bytes = document.bytes(plan_.field);
    const auto elements = bytes.size() / width_;
    const auto end = last.value_or(elements + plan_.delimiter.size());
    if (end > elements + plan_.delimiter.size() || end - first > plan_.length - filled_)
      throw bad_sample(cause::too_large, "a document of " + std::to_string(elements)
                                             + " elements; a pack has "
                                             + std::to_string(plan_.length));
    ++segment_;
    const auto copied = std::min<std::uint64_t>(end, elements) - std::min(first, elements);
    if (copied > 0)
      std::memcpy(data_ + filled_ * width_, bytes.data() + first * width_, copied * width_);
    if (end > elements && !plan_.delimiter.empty())
      put(filled_ + copied, delimiter_);
    for (auto i = first; i < end; ++i, ++filled_) {
      segments_[filled_] = segment_;
      offsets_[filled_] = static_cast<std::int32_t>(i); // below `longest_row`
    }
  }

  void finish() {
    for (; filled_ < plan_.length; ++filled_) {
      put(filled_, pad_);
      segments_[filled_] = 0;
      offsets_[filled_] = 0;
    }
  }

private:
  void begin(dtype type) {
    const shape dims{plan_.length};
    type_ = type;
    width_ = size_of(type);
    // Checked whether or not this pack needs padding: so all packs of a kind are good, or none.
    pad_ = element_bytes(plan_.pad, type, plan_.field);
    if (!plan_.delimiter.empty())
      delimiter_ = element_bytes(plan_.delimiter.front(), type, plan_.field);
    data_ = into_.make_tensor(plan_.field, type, dims);
    segments_ = into_.make<std::int32_t>("segment", dims).data();
    offsets_ = into_.make<std::int32_t>("offset", dims).data();
  }

  void put(std::uint64_t at, const std::array<std::byte, 8>& element) {
    std::memcpy(data_ + at * width_, element.data(), width_);
  }

  const pack_plan& plan_;
  sample& into_;
  dtype type_ = dtype::u8;
  std::size_t width_ = 1;
  std::array<std::byte, 8> pad_{};
  std::array<std::byte, 8> delimiter_{};
  std::byte* data_ = nullptr;
  std::int32_t* segments_ = nullptr;
  std::int32_t* offsets_ = nullptr;
  std::uint64_t filled_ = 0;
  std::int32_t segment_ = 0;
};

class pack_form final : public iterator_form {
public:
  pack_form(edge_ptr input, pack_plan plan) : input_(std::move(input)), plan_(std::move(plan)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<pack_iterator>(plan_, input_->begin(lane, g), lane);
  }

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    identify(into, *this, start, at, with.orders());
    assembly pack{plan_, into};
    hash_stream sample_keys;
    for (auto left = from.number(); left > 0; --left) {
      const auto x = read_range(plan_, from);
      auto& document = with.side_sample(plan_.side);
      const auto sample_key = input_->make(from, at, document, with);
      pack.add(document, x.from, x.to);
      sample_keys.add(x.to ? sample_key_of_part(sample_key, x.from, *x.to) : sample_key);
    }
    pack.finish();
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
  const auto size = elements + plan.delimiter.size();
  if (size > longest_row)
    throw bad_sample(cause::too_large, "a document of " + std::to_string(size)
                                           + " elements; they are numbered up to "
                                           + std::to_string(longest_row));
  if (!plan.split && size > plan.length)
    throw bad_sample(cause::too_large, "a document of " + std::to_string(size)
                                           + " elements; a pack has "
                                           + std::to_string(plan.length));
  return {.number = size};
}

iterator_form_ptr build_pack(const operator_node& x, const surroundings& at,
                             iterator_planner& planner) {
  pack_plan plan{.field = x.get<std::string>("field"),
                 .length = x.get<std::uint64_t>("length"),
                 .bins = x.get<std::uint64_t>("bins"),
                 .split = x.get<bool>("split"),
                 .delimiter = x.get<std::vector<std::uint64_t>>("delimiter"),
                 .pad = x.get<std::uint64_t>("pad"),
                 .side = planner.common().add_side_samples(1)};
  auto input = planner.build_edge(
      x, at, [plan](sample& s, sample_maker&) { return probe_document(plan, s); });
  return std::make_shared<pack_form>(std::move(input), std::move(plan));
}

/// An option whose list has one value or none.
std::optional<std::uint64_t> at_most_one(const operator_node& call, const std::string& option) {
  const auto& list = call.get<std::vector<std::uint64_t>>(option);
  if (list.size() > 1)
    refuse_argument(call.op, option + " with " + std::to_string(list.size()) + " numbers",
                    "one, or none");
  return list.empty() ? std::nullopt : std::optional{list.front()};
}

pipeline make_pack(const operator_node& call, const std::vector<pipeline>& on) {
  return on[0].pack(call.get<std::string>("field"), call.get<std::uint64_t>("length"),
                    {.bins = call.get<std::uint64_t>("bins"),
                     .split = call.get<bool>("split"),
                     .delimiter = at_most_one(call, "delimiter"),
                     .pad = call.get<std::uint64_t>("pad")});
}

} // namespace

operator_type pack_operator() {
  using enum option_type;
  return {.word = "pack",
          .role = operator_role::step,
          .options = {plain("field", text),
                      plain("length", number),
                      {"bins", number, std::uint64_t{8}},
                      {"split", flag, false},
                      {"delimiter", numbers, std::vector<std::uint64_t>{}},
                      {"pad", number, std::uint64_t{0}}},
          .make = make_pack,
          .traits = {.probes_content = [](const operator_node&) { return true; },
                     .sure_fields =
                         [](const operator_node& x, std::vector<field_names>&) {
                           return field_names{x.get<std::string>("field"), "segment", "offset"};
                         }},
          .forms = {.iterator = build_pack, .state_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts&) -> state_sizes {
                      return {"documents of "
                                  + counted(x.get<std::uint64_t>("bins"), "open sample"),
                              std::nullopt, std::nullopt};
                    },
                    .work = [](const operator_node& x) -> std::string { return x.op; }}};
}

} // namespace leat
