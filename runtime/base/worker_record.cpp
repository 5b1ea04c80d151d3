#include "runtime/base/worker_record.hpp"

namespace leat {

void stage_clock::turn_to(std::size_t stage, std::int64_t now) noexcept {
  of_row_[stage_] += now - since_;
  laps_[switches_] = {stage_, since_, now};
  stage_ = stage;
  since_ = now;
  is_on_ = ++switches_ < most_switches;
}

void stage_clock::end(std::int64_t now, std::size_t rows, std::uint64_t epoch,
                      std::uint64_t position) noexcept {
  if (times_.empty())
    return;
  if (is_on_)
    turn_to(stage_, now);
  is_on_ = false;
  // Extrapolates from the measured part of the row to the whole row, and from the row to all rows.
  const auto measured = since_ - begin_;
  const auto weight = measured > 0 ? static_cast<double>(now - begin_)
                                         / static_cast<double>(measured) * static_cast<double>(rows)
                                   : 0;
  for (std::size_t i = 0; i < of_row_.size(); ++i)
    if (const auto ns = std::exchange(of_row_[i], 0); ns != 0)
      times_[i].store(times_[i].load(std::memory_order_relaxed)
                          + static_cast<std::int64_t>(weight * static_cast<double>(ns)),
                      std::memory_order_relaxed);
  if (tracing_.track)
    show(now, epoch, position);
}

void stage_clock::show(std::int64_t now, std::uint64_t epoch, std::uint64_t position) noexcept {
  if (begin_ - shown_ < shown_every_ns)
    return;
  shown_ = begin_;
  tracing_.track->add(tracing_.row, begin_, now, {epoch, position});
  for (std::size_t i = 0; i < switches_; ++i)
    if (const auto& x = laps_[i]; x.stage < num_stages())
      tracing_.track->add(tracing_.stages[x.stage], x.begin, x.end);
}

} // namespace leat
