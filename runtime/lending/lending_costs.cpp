#include "runtime/lending/lending_costs.hpp"

namespace leat {

namespace {

/// Rows that are measured together.
constexpr std::uint64_t rows_per_measurement = 4;
/// Measurements that a decision needs.
constexpr std::size_t enough_made = 3;
constexpr std::size_t enough_received = 8;
constexpr std::int64_t between_looks = 100'000'000;

void add_made(const rows_made& so_far, rows_made& seen, recent_times& to) {
  const auto rows = so_far.rows - seen.rows;
  if (so_far.rows < seen.rows + rows_per_measurement)
    return;
  to.add((so_far.time - seen.time) / static_cast<std::int64_t>(rows));
  seen = so_far;
}

std::string microseconds(std::int64_t ns) {
  return std::to_string((ns + 999) / 1000) + " us";
}

} // namespace

void lending_costs::made(const made_here& so_far) {
  add_made(so_far.batches, batches_.seen, batches_.making);
  add_made(so_far.probes, probes_.seen, probes_.making);
}

bool lending_costs::is_due(std::int64_t now) noexcept {
  if (now < next_look_)
    return false;
  next_look_ = now + between_looks;
  return true;
}

std::optional<lending_costs::refusal> lending_costs::refused(lent_form form, bool is_batch) {
  auto& kind = kind_of(is_batch);
  const auto& sending = sending_[index_of(form)];
  if (kind.making.size() < enough_made || kind.receiving.size() < enough_received
      || sending.size() == 0)
    return std::nullopt;
  const refusal x{is_batch, sending.median() + kind.receiving.median(), kind.making.median()};
  auto& is_refused = kind.is_refused[index_of(form)];
  is_refused = is_refused ? x.costs_much() : x.costs_too_much();
  return is_refused ? std::optional{x} : std::nullopt;
}

lending_costs::choice lending_costs::choose(lent_form form, std::int64_t now) {
  const auto batches = refused(form, true);
  const auto probes = refused(form, false);
  refusals_[index_of(form)] = batches ? batches : probes;
  const choice found{.batches = !batches, .probes = !probes};
  if (found.batches && found.probes)
    return found;
  auto& next = next_trial_[index_of(form)];
  if (next == 0)
    next = now + between_trials;
  if (now < next)
    return found;
  return {.batches = !found.batches, .probes = !found.probes, .is_trial = true};
}

std::string lending_costs::reason() const {
  for (const auto form : {lent_form::items, lent_form::records})
    if (const auto& x = refusals_[index_of(form)])
      return (form == lent_form::items ? "receiving " : "sending the records of, and receiving, ")
             + std::string{x->is_batch ? "a row" : "a probe"} + " takes " + microseconds(x->cost)
             + " of this process, "
             + (x->costs_too_much() ? "more than half of the " : "not much less than half of the ")
             + microseconds(x->making) + " that making it takes";
  return {};
}

std::string lending_costs::take_news() {
  if (has_told_)
    return {};
  auto text = reason();
  has_told_ = !text.empty();
  return text;
}

} // namespace leat
