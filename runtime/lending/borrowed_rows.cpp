#include "runtime/lending/borrowed_rows.hpp"

#include "runtime/base/metrics.hpp"
#include "runtime/rows/row_codec.hpp"

#include <cstddef>

namespace leat {

namespace {

constexpr std::int64_t between_tries = 1'000'000'000;

} // namespace

bool borrowed_rows::prepare(const std::shared_ptr<const borrowed_job>& job) {
  if (of_ == job)
    return true;
  if (failed_ == job && steady_ns() < next_try_)
    return false;
  of_ = nullptr; // as long as this is not done
  runner_.reset();
  memory_.reset();
  try {
    records_ = std::make_shared<records_at_hand>();
    plan_ = job->plan_for(records_);
    runner_.emplace(plan_, std::make_shared<worker_record>());
    memory_.emplace(plan_->layout, 1);
  } catch (...) { // no memory
    failed_ = job;
    next_try_ = steady_ns() + between_tries;
    return false;
  }
  failed_ = nullptr;
  of_ = job;
  return true;
}

std::optional<std::string> borrowed_rows::made(const offered_row& x) try {
  if (!of_->has_data() && !records_->read(x.records))
    return std::nullopt;
  const auto request = decode_request(x.request, *plan_);
  if (!request)
    return std::nullopt;
  row_result result;
  row_places places;
  memory_->begin_rows();
  runner_->run(*request, request->edge ? row_target{} : places.at(*memory_, 0), result);
  // A sample may be bad here by this machine's limits, libraries, or copy of the data.
  if (result.what == row_result::outcome::failed || result.bad || result.seen.found.bad
      || records_->lacked())
    return std::nullopt;
  auto bytes = request->edge ? encode(result)
                             : encode(result, *plan_->layout,
                                      [&](std::size_t field) { return memory_->row_of(field, 0); });
  return bytes.size() <= most_lent_bytes ? std::optional{std::move(bytes)} : std::nullopt;
} catch (...) { // no memory
  return std::nullopt;
}

} // namespace leat
