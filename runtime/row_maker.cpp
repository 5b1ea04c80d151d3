#include "runtime/row_maker.hpp"

#include "runtime/exception_text.hpp"
#include "runtime/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/source.hpp>

#include <utility>

namespace leat {

row_maker::row_maker(std::shared_ptr<const sequence_plan> plan,
                     std::shared_ptr<worker_record> record, std::uint64_t lanes,
                     const std::atomic<bool>* cancelled)
    : plan_(std::move(plan)), record_(std::move(record)), lanes_(lanes), cancelled_(cancelled),
      orders_(plan_->num_shuffles), functions_(make_functions(plan_->maps)) {
  for (std::size_t i = 0; i < plan_->num_side_samples; ++i)
    side_samples_.push_back(std::make_unique<sample>());
}

void row_maker::make(const place& at, std::uint64_t position, sample& into) {
  epoch_ = at.epoch;
  position_ = position;
  plan_->items->make(at, into, *this);
}

void row_maker::read(std::size_t source, const leat::source& from, std::uint64_t record,
                     sample& into) {
  record_->stage.store(source, std::memory_order_relaxed);
  try {
    from.read(record, into);
  } catch (const bad_sample&) {
    throw;
  } catch (const error&) {
    throw;
  } catch (...) {
    throw bad_sample(cause::function_error, exception_text());
  }
}

void row_maker::map(std::size_t number, std::uint64_t birth, sample& into) {
  record_->stage.store(plan_->num_sources + number, std::memory_order_relaxed);
  context c{rng{plan_->streams[number], birth}, epoch_, position_, lanes_, cancelled_};
  try {
    functions_[number](into, c);
  } catch (const bad_sample&) {
    throw;
  } catch (...) {
    throw bad_sample(cause::function_error, exception_text());
  }
}

sample& row_maker::side_sample(std::size_t number) {
  auto& x = *side_samples_[number];
  sample_access::reset(x, nullptr);
  return x;
}

std::uint64_t row_maker::take_bytes_read() {
  std::uint64_t bytes = 0;
  for (const auto& x : side_samples_)
    bytes += sample_access::take_bytes_read(*x);
  return bytes;
}

std::vector<map_function> make_functions(const std::vector<map_stage>& maps) {
  std::vector<map_function> functions;
  for (const auto& x : maps) {
    try {
      functions.push_back(x.make());
    } catch (...) {
      throw error(errc::invalid_argument,
                  {.stage = x.name, .got = "the factory threw: " + exception_text()});
    }
  }
  return functions;
}

} // namespace leat
