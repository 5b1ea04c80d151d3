#include "runtime/order/sample_maker.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/source.hpp>

#include <utility>

namespace leat {

namespace {

/// Makes a stage's function for one worker. Throws `errc::invalid_argument` if its factory throws.
template <class Make>
auto made(const std::string& stage, const Make& make) {
  try {
    return make();
  } catch (...) {
    if (lack_of_resources())
      throw error_in_flight(errc::no_resources, {.stage = stage});
    throw error(errc::invalid_argument,
                {.stage = stage, .got = "the factory threw: " + exception_text()});
  }
}

} // namespace

sample_maker::sample_maker(std::shared_ptr<const sample_graph> plan,
                           std::shared_ptr<worker_record> record, std::uint64_t lanes,
                           const std::atomic<bool>* cancelled, std::stop_token stop)
    : plan_(std::move(plan)), record_(std::move(record)), lanes_(lanes), cancelled_(cancelled),
      stop_(std::move(stop)), orders_(plan_->num_shuffles) {
  for (const auto& x : plan_->maps) {
    together_.push_back(x.make_together ? made(x.name, x.make_together) : map_together_function{});
    functions_.push_back(x.make_together ? map_function{} : made(x.name, x.make));
  }
  for (const auto& x : plan_->filters)
    filters_.push_back(x->make ? made(x->name, x->make) : std::function<bool(sample&)>{});
  for (const auto& x : plan_->flat_maps)
    flat_maps_.push_back(made(x->name, x->make));
  for (const auto& x : plan_->scans)
    scans_.push_back(made(x->name, x->make));
  for (std::size_t i = 0; i < plan_->num_side_samples; ++i)
    side_samples_.push_back(std::make_unique<sample>());
}

void sample_maker::make(const place& at, std::uint64_t position, sample& into) {
  epoch_ = at.epoch;
  position_ = position;
  is_below_edge_ = false;
  sample_access::read_with(into, stop_, &blocks_);
  plan_->items->make(at, into, *this);
}

std::uint64_t sample_maker::make(const iterator_form& of, const item& what, const item_place& at,
                                 std::uint64_t position, sample& into) {
  epoch_ = at.when.epoch;
  position_ = position;
  is_below_edge_ = false;
  sample_access::read_with(into, stop_, &blocks_);
  item_reader reader{what};
  return of.make(reader, at, into, *this);
}

std::uint64_t sample_maker::make_for_probe(const iterator_form& of, const item& what,
                                           const item_place& at, sample& into) {
  epoch_ = at.when.epoch;
  position_ = at.lane; // for context::lane
  is_below_edge_ = true;
  sample_access::read_with(into, stop_, &blocks_);
  item_reader reader{what};
  return of.make(reader, at, into, *this);
}

probe_result sample_maker::probe(std::size_t edge, sample& x) {
  probe_result found;
  call(plan_->stage_of_edge(edge), [&] { found = plan_->edges[edge].probe(x, *this); });
  return found;
}

void sample_maker::pick(std::size_t flat_map, std::uint64_t child, sample& into) {
  call(plan_->stage_of_flat_map(flat_map), [&] { flat_maps_[flat_map].pick(into, child); });
}

void sample_maker::apply(std::size_t scan, std::string_view result, sample& into) {
  call(plan_->stage_of_scan(scan), [&] { scans_[scan].apply(into, result); });
}

/// Which samples are good must not depend on the machine.
void sample_maker::rethrow(std::size_t stage) const {
  if (lack_of_resources())
    throw error_in_flight(errc::no_resources, {.stage = plan_->stage_names[stage]});
  throw bad_sample(cause::function_error, exception_text());
}

void sample_maker::map(std::size_t number, std::uint64_t sample_key, sample& into) {
  if (number >= first_left_) {
    left_key_ = sample_key;
    return;
  }
  enter(plan_->num_sources + number);
  context c{rng{plan_->streams[number], sample_key},
            epoch_,
            position_,
            lanes_,
            cancelled_,
            !is_below_edge_,
            record_.get()};
  try {
    if (together_[number]) {
      auto* one = &into;
      together_[number]({&one, 1}, {&c, 1});
    } else {
      functions_[number](into, c);
    }
  } catch (...) {
    rethrow_of_map(number);
  }
}

void sample_maker::map_together(std::size_t number, std::span<const begun> all) {
  samples_.clear();
  contexts_.clear();
  for (const auto& x : all) {
    samples_.push_back(x.of);
    contexts_.emplace_back(rng{plan_->streams[number], x.sample_key}, x.epoch, x.position, lanes_,
                           cancelled_, true, record_.get());
  }
  enter(plan_->num_sources + number);
  record_->item.store(all.front().position, std::memory_order_relaxed);
  try {
    together_[number](samples_, contexts_);
  } catch (...) {
    rethrow_of_map(number);
  }
}

void sample_maker::finish(std::span<const begun> all) {
  for (auto number = plan_->first_together; number < plan_->maps.size(); ++number) {
    if (together_[number]) {
      map_together(number, all);
      continue;
    }
    for (const auto& x : all) {
      epoch_ = x.epoch;
      position_ = x.position;
      record_->item.store(position_, std::memory_order_relaxed);
      map(number, x.sample_key, *x.of);
    }
  }
}

void sample_maker::rethrow_of_map(std::size_t number) const {
  try {
    throw;
  } catch (const bad_sample&) {
    throw;
  } catch (const error& problem) {
    switch (problem.code()) {
    case errc::no_resources:
    case errc::bad_snapshot:
    case errc::worker_lost:
    case errc::interrupted:
    case errc::device:
      throw; // about the job, and not the sample
    default:
      throw bad_sample(cause::function_error, problem.what());
    }
  } catch (...) {
    rethrow(plan_->num_sources + number);
  }
}

sample& sample_maker::side_sample(std::size_t number) {
  auto& x = *side_samples_[number];
  sample_access::reset(x, nullptr);
  sample_access::read_with(x, stop_, &blocks_);
  return x;
}

std::uint64_t sample_maker::take_bytes_read() {
  std::uint64_t bytes = 0;
  for (const auto& x : side_samples_)
    bytes += sample_access::take_bytes_read(*x);
  return bytes;
}

} // namespace leat
