#include "runtime/base/number_text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/operators/chosen_by_id.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <cmath>
#include <span>

namespace leat {

pipeline pipeline::sample(double p, std::uint64_t seed) const {
  if (!(p >= 0 && p <= 1))
    refuse_argument("sample.p", number_text(p), "a probability, 0 to 1");
  // Turns -0 into 0.
  return then({.op = "sample", .options = {{"p", p == 0 ? 0.0 : p}, {"seed", seed}}});
}

namespace {

/// Which items are kept: those whose hash is below a bound.
struct sample_choice {
  double p = 0;
  std::uint64_t seed = 0;
  /// Ordinal among the operators of this name: several choose independently of each other.
  std::uint64_t ordinal = 0;
};

class sample_iterator final : public choosing_iterator {
public:
  sample_iterator(std::unique_ptr<iterator> input, const iterator_form& items,
                  const std::string& name, const sample_choice& choice, std::size_t shuffles,
                  const lane_context& lane, const lap& g)
      : choosing_iterator(std::move(input), items, name, shuffles, lane, g),
        keeps_all_(choice.p == 1), below_(keeps_all_ ? 0 : bound_of(choice.p)) {
    add(name.size());
    hashed_ += name;
    for (const auto x : {choice.seed, choice.ordinal, g.epoch, pass_word(g.pass)})
      add(x);
    before_id_ = hashed_.size();
  }

protected:
  bool keeps(std::string_view id) override {
    if (keeps_all_)
      return true;
    hashed_.resize(before_id_);
    hashed_ += id;
    return xxh3_128(std::as_bytes(std::span{hashed_})).low < below_;
  }

private:
  /// floor(p 2^64), for p below 1.
  static std::uint64_t bound_of(double p) { return static_cast<std::uint64_t>(std::ldexp(p, 64)); }

  void add(std::uint64_t x) { hashed_.append(reinterpret_cast<const char*>(&x), sizeof(x)); }

  bool keeps_all_;
  std::uint64_t below_;
  /// Everything that is hashed; the id comes last.
  std::string hashed_;
  std::size_t before_id_ = 0;
};

class sample_form final : public over_items {
public:
  sample_form(iterator_form_ptr input, const sample_choice& choice, std::size_t shuffles)
      : over_items(std::move(input)), choice_(choice), shuffles_(shuffles) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<sample_iterator>(input().begin(lane, g), input(), name_, choice_,
                                             shuffles_, lane, g);
  }

private:
  const std::string name_ = "sample";
  sample_choice choice_;
  std::size_t shuffles_;
};

iterator_form_ptr build_sample(const operator_node& x, const surroundings& at,
                               iterator_planner& planner) {
  auto input = planner.build_input(x, at); // counts shuffles, and takes ordinals
  const sample_choice choice{.p = x.get<double>("p"),
                             .seed = x.get<std::uint64_t>("seed"),
                             .ordinal = planner.take_ordinal(x)};
  planner.common().see_seed(choice.seed);
  return std::make_shared<sample_form>(std::move(input), choice, planner.result().num_shuffles);
}

} // namespace

operator_type sample_operator() {
  return {
      .word = "sample",
      .role = operator_role::step,
      .options = {plain("p", option_type::real), {"seed", option_type::number, std::uint64_t{0}}},
      .make =
          [](const operator_node& call, const std::vector<pipeline>& on) {
            return on[0].sample(call.get<double>("p"), call.get<std::uint64_t>("seed"));
          },
      .forms = {.iterator = build_sample, .state_version = 1}};
}

} // namespace leat
