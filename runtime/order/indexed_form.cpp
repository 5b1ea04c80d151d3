#include "runtime/order/indexed_form.hpp"

#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/order/sample_key.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/error.hpp>
#include <leat/source.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace leat {

namespace {

/// A source in its stored order.
class records final : public indexed_form {
public:
  records(std::shared_ptr<const source> data, std::size_t ordinal)
      : data_(std::move(data)), ordinal_(ordinal), size_(data_->size()) {}

  std::uint64_t size() const noexcept override { return size_; }

  void append_id(const place& at, order_cache&, std::string& to) const override {
    append_as_utf8(to, [&](std::string& id) { data_->append_id(at.item, id); });
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    identify(into, *this, at, with.orders());
    with.read(ordinal_, *data_, at.item, into);
    return with.needs_sample_keys() ? sample_key_of(ordinal_, at.epoch, pass_word(at.pass), at.item)
                                    : 0;
  }

private:
  std::shared_ptr<const source> data_;
  std::size_t ordinal_;
  std::uint64_t size_;
};

/// An operator with one input, whose items it hands on.
class over_input : public indexed_form {
public:
  explicit over_input(indexed_form_ptr input) : input_(std::move(input)) {}

  std::uint64_t size() const noexcept override { return input_->size(); }

  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    input_->append_id(source_of(at, orders), orders, to);
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    return input_->make(source_of(at, with.orders()), into, with);
  }

protected:
  /// Where the input has the item.
  virtual place source_of(const place& at, order_cache&) const { return at; }

  const indexed_form& input() const noexcept { return *input_; }

private:
  indexed_form_ptr input_;
};

class shuffled final : public over_input {
public:
  shuffled(indexed_form_ptr input, std::size_t number, std::shared_ptr<const order_config> config)
      : over_input(std::move(input)), number_(number), orders_(std::move(config)) {}

protected:
  place source_of(const place& at, order_cache& orders) const override {
    return {orders.get(number_, orders_, at.epoch, at.pass).record(at.item), at.epoch, at.pass};
  }

private:
  std::size_t number_;
  mutable shared_orders orders_;
};

class mapped final : public over_input {
public:
  mapped(indexed_form_ptr input, std::size_t number)
      : over_input(std::move(input)), number_(number) {}

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto sample_key = input().make(at, into, with);
    with.map(number_, sample_key, into);
    return sample_key;
  }

private:
  std::size_t number_;
};

/// take and skip: `size` items from `first` on.
class part final : public over_input {
public:
  part(indexed_form_ptr input, std::uint64_t first, std::uint64_t size)
      : over_input(std::move(input)), first_(first), size_(size) {}

  std::uint64_t size() const noexcept override { return size_; }

protected:
  place source_of(const place& at, order_cache&) const override {
    return {at.item + first_, at.epoch, at.pass};
  }

private:
  std::uint64_t first_;
  std::uint64_t size_;
};

class repeated final : public over_input {
public:
  repeated(indexed_form_ptr input, std::uint64_t times)
      : over_input(std::move(input)), times_(times) {}

  std::uint64_t size() const noexcept override { return input().size() * times_; }

protected:
  place source_of(const place& at, order_cache&) const override {
    const auto once = input().size();
    return {at.item % once, at.epoch, at.pass * times_ + at.item / once};
  }

private:
  std::uint64_t times_;
};

class enumerated final : public over_input {
public:
  enumerated(indexed_form_ptr input, std::string field)
      : over_input(std::move(input)), field_(std::move(field)) {}

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto sample_key = input().make(at, into, with);
    into.set(field_, static_cast<std::int64_t>(at.item));
    return sample_key;
  }

private:
  std::string field_;
};

class concatenated final : public indexed_form {
public:
  explicit concatenated(std::vector<indexed_form_ptr> inputs) : inputs_(std::move(inputs)) {
    for (const auto& x : inputs_)
      begins_.push_back(begins_.back() + x->size());
  }

  std::uint64_t size() const noexcept override { return begins_.back(); }

  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    const auto i = input_of(at);
    inputs_[i]->append_id(inside(at, i), orders, to);
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto i = input_of(at);
    return inputs_[i]->make(inside(at, i), into, with);
  }

private:
  /// The last input that begins at or before the item: empty ones begin where the next does.
  std::size_t input_of(const place& at) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), at.item);
    return static_cast<std::size_t>(behind - begins_.begin()) - 1;
  }

  place inside(const place& at, std::size_t input) const {
    return {at.item - begins_[input], at.epoch, at.pass};
  }

  std::vector<indexed_form_ptr> inputs_;
  /// Of each input, and the end of the last.
  std::vector<std::uint64_t> begins_{0};
};

class zipped final : public indexed_form {
public:
  /// Inputs behind the first use side samples from `first_side` on.
  zipped(std::vector<indexed_form_ptr> inputs, std::size_t first_side)
      : inputs_(std::move(inputs)), first_side_(first_side) {}

  std::uint64_t size() const noexcept override {
    auto size = inputs_.front()->size();
    for (const auto& x : inputs_)
      size = std::min(size, x->size());
    return size;
  }

  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    for (char before = '('; const auto& x : inputs_) {
      to += before;
      x->append_id(at, orders, to);
      before = '+';
    }
    to += ')';
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    hash_stream sample_keys;
    sample_keys.add(inputs_.front()->make(at, into, with));
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      auto& side = with.side_sample(first_side_ + i - 1);
      sample_keys.add(inputs_[i]->make(at, side, with));
      sample_access::lend(side, into);
    }
    identify(into, *this, at, with.orders());
    return with.needs_sample_keys() ? sample_keys.digest64() : 0;
  }

private:
  std::vector<indexed_form_ptr> inputs_;
  std::size_t first_side_;
};

// -- from operators to indexed forms

/// The source that a windowed shuffle reads: the only one below it.
const operator_node& only_source(const operator_node& x) {
  return x.is_source() ? x : only_source(*x.inputs.front());
}

[[noreturn]] void refuse_size(const operator_node& x) {
  throw error(errc::invalid_argument,
              {.stage = x.op, .got = "more than 2^62 samples an epoch", .needed = "at most 2^62"});
}

/// What permutations, and the numbers of positions, can hold.
indexed_form_ptr checked(const operator_node& x, indexed_form_ptr indexed_form) {
  if (indexed_form->size() > std::uint64_t{1} << 62)
    refuse_size(x);
  return indexed_form;
}

indexed_form_ptr build_repeat(const operator_node& x, indexed_form_ptr input, std::uint64_t times) {
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(input->size(), times, &size))
    refuse_size(x);
  return checked(x, std::make_shared<repeated>(std::move(input), times));
}

std::uint64_t largest_divisor(std::uint64_t n, std::uint64_t at_most) noexcept {
  auto divisor = std::clamp<std::uint64_t>(at_most, 1, n);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

} // namespace

indexed_form_ptr indexed_planner::build(const operator_node& x) {
  if (x.is_source())
    return build_source(x);
  const auto first_source = plan_.num_sources;
  std::vector<indexed_form_ptr> inputs;
  for (const auto& input : x.inputs)
    inputs.push_back(build(*input));
  if (x.op == "zip") {
    plan_.num_side_samples += inputs.size() - 1;
    const auto first_side = plan_.num_side_samples - (inputs.size() - 1);
    return std::make_shared<zipped>(std::move(inputs), first_side);
  }
  if (x.op == "concat")
    return checked(x, std::make_shared<concatenated>(std::move(inputs)));
  return build_unary(x, std::move(inputs.front()), first_source);
}

indexed_form_ptr indexed_planner::build_source(const operator_node& x) {
  auto data = x.data->get();
  const auto ordinal = add_source(data->name());
  return checked(x, std::make_shared<records>(std::move(data), ordinal));
}

indexed_form_ptr indexed_planner::build_unary(const operator_node& x, indexed_form_ptr input,
                                              std::size_t first_source) {
  const auto size = input->size();
  if (x.op == "map")
    return std::make_shared<mapped>(std::move(input), add_map(x));
  if (x.op == "shuffle")
    return build_shuffle(x, std::move(input), first_source);
  if (x.op == "enumerate")
    return std::make_shared<enumerated>(std::move(input), x.get<std::string>("field"));
  const auto n = x.get<std::uint64_t>("n");
  if (x.op == "take")
    return std::make_shared<part>(std::move(input), 0, std::min(n, size));
  if (x.op == "skip")
    return std::make_shared<part>(std::move(input), std::min(n, size), size - std::min(n, size));
  if (x.op == "repeat")
    return build_repeat(x, std::move(input), n);
  throw error(errc::invalid_argument, {.stage = x.op,
                                       .got = "an operator that is not known here",
                                       .needed = "one of docs/pipelines.md"});
}

indexed_form_ptr indexed_planner::build_shuffle(const operator_node& x, indexed_form_ptr input,
                                                std::size_t first_source) {
  const auto kind = kind_of(x);
  const auto seed = x.get<std::uint64_t>("seed");
  see_seed(seed);
  const auto level = shuffles_above_[first_source]++;
  if (kind == shuffle_kind::none)
    return input;
  auto config = std::make_shared<order_config>();
  config->shuffle = {seed, kind, x.get<std::uint64_t>("window")};
  config->lanes = lanes_;
  config->data_digest = data_digest(x);
  config->source = first_source;
  config->level = level;
  config->records_per_file = kind == shuffle_kind::windowed
                                 ? only_source(x).data->get()->records_per_file()
                                 : std::vector{input->size()};
  return std::make_shared<shuffled>(std::move(input), plan_.num_shuffles++, std::move(config));
}

std::size_t indexed_planner::add_source(std::string name) {
  source_names_.push_back(std::move(name));
  return plan_.num_sources++;
}

std::size_t indexed_planner::add_map(const operator_node& x) {
  const auto& name = x.get<std::string>("name");
  plan_.maps.push_back({name, x.get<std::string>("parameters"), x.make});
  return plan_.maps.size() - 1;
}

void indexed_planner::see_seed(std::uint64_t seed) {
  if (!std::exchange(has_seed_, true))
    plan_.seed = seed;
}

void indexed_planner::finish() {
  plan_.stage_names = std::move(source_names_);
  std::map<std::string, std::uint64_t> ordinals;
  for (const auto& x : plan_.maps) {
    plan_.streams.push_back(map_stream(plan_.seed, x.name, ordinals[x.name]++));
    plan_.stage_names.push_back(x.name);
  }
}

void identify(sample& x, const indexed_form& from, const place& at, order_cache& orders) {
  sample_access::identify(
      x, id_writer{[&from, at, &orders](std::string& to) { from.append_id(at, orders, to); }});
}

std::uint64_t size_of(const operator_node& root) {
  if (!is_indexed(root))
    throw error(errc::invalid_argument, {.stage = "size",
                                         .got = "a pipeline whose length is not known beforehand",
                                         .needed = "indexed data, and operators without state"});
  sample_graph plan;
  return indexed_planner{plan, 1}.build(root)->size();
}

hash128 data_digest(const operator_node& root) {
  std::vector<hash128> digests;
  for_each_operator(root, [&](const operator_node& x) {
    if (x.is_source())
      digests.push_back(x.facts().digest);
  });
  if (digests.size() == 1)
    return digests.front();
  hash_stream all;
  for (const auto& x : digests) {
    all.add(x.low);
    all.add(x.high);
  }
  return all.digest128();
}

std::uint64_t lanes_of(const operator_node& batch) {
  const auto rows = batch.get<std::uint64_t>("rows");
  if (const auto lanes = batch.get<std::uint64_t>("lanes"); lanes != 0)
    return lanes;
  auto files = rows;
  bool in_files = false;
  for_each_operator(batch, [&](const operator_node& x) {
    std::uint64_t has = 0;
    if (x.stream)
      has = x.stream->get()->units();
    else if (x.op == "shuffle" && kind_of(x) == shuffle_kind::windowed)
      has = only_source(x).data->get()->records_per_file().size();
    else
      return;
    in_files = true;
    files = std::min(files, has);
  });
  return in_files ? largest_divisor(rows, files) : rows;
}

std::shared_ptr<const epoch_order> shared_orders::get(std::uint64_t epoch, std::uint64_t pass) {
  constexpr std::size_t kept = 8;
  mutex_lock lock{mutex_};
  for (const auto& x : used_)
    if (x->epoch() == epoch && x->pass() == pass)
      return x;
  if (used_.size() == kept)
    used_.pop_front();
  return used_.emplace_back(std::make_shared<const epoch_order>(config_, epoch, pass));
}

} // namespace leat
