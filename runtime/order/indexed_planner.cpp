#include "runtime/order/indexed_planner.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/order/sample_key.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/located_records.hpp"

#include <leat/stored_source.hpp>

namespace leat {

namespace {

/// A source in its stored order.
class records final : public indexed_form {
public:
  records(std::shared_ptr<const source> data, std::size_t ordinal)
      : data_(std::move(data)), stored_(dynamic_cast<const stored_source*>(data_.get())),
        located_(dynamic_cast<const located_records*>(data_.get())), ordinal_(ordinal),
        size_(data_->size()) {}

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

  stored_objects* locate(const place& at, order_cache&, std::vector<extent>& into) const override {
    if (!stored_)
      return located_ ? located_->locate(at.item, into) : nullptr;
    stored_->locate(at.item, into);
    return &stored_->objects();
  }

private:
  std::shared_ptr<const source> data_;
  /// Null if it is none.
  const stored_source* stored_;
  /// Likewise.
  const located_records* located_;
  std::size_t ordinal_;
  std::uint64_t size_;
};

indexed_form_ptr checked(const operator_node& x, indexed_form_ptr indexed_form) {
  if (indexed_form->size() > std::uint64_t{1} << 62)
    refuse_size(x);
  return indexed_form;
}

} // namespace

void refuse_size(const operator_node& x) {
  refuse_argument(x.op, "more than 2^62 samples per epoch", "at most 2^62");
}

indexed_form_ptr indexed_planner::build(const operator_node& x) {
  if (x.is_source())
    return build_source(x);
  indexed_inputs inputs{.items = {}, .first_source = plan_.num_sources};
  for (const auto& input : x.inputs)
    inputs.items.push_back(build(*input));
  return checked(x, type_of(x).forms.indexed(x, std::move(inputs), *this));
}

indexed_form_ptr indexed_planner::build_source(const operator_node& x) {
  auto data = x.data->get();
  const auto ordinal = add_source(data->name());
  return checked(x, std::make_shared<records>(std::move(data), ordinal));
}

std::size_t indexed_planner::add_source(std::string name) {
  source_names_.push_back(std::move(name));
  return plan_.num_sources++;
}

std::size_t indexed_planner::add_map(const operator_node& x) {
  const auto& name = x.get<std::string>("name");
  plan_.maps.push_back({name, x.get<std::string>("parameters"), x.make, x.make_together});
  return plan_.maps.size() - 1;
}

std::size_t indexed_planner::add_shuffle() noexcept {
  return plan_.num_shuffles++;
}

std::size_t indexed_planner::add_side_samples(std::size_t n) noexcept {
  return std::exchange(plan_.num_side_samples, plan_.num_side_samples + n);
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

std::uint64_t size_of(const operator_node& root) {
  if (!is_indexed(root))
    refuse_argument("size", "a pipeline whose length is not known in advance",
                    "indexed data, and operators without state");
  sample_graph plan;
  return indexed_planner{plan, 1}.build(root)->size();
}

} // namespace leat
