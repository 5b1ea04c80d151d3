#include "actors/loader_checks.hpp"
#include "actors/loader_seat.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/job/starting_point.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <utility>

namespace leat {

namespace {

/// Turns every exception into a leat::error, also those for what the machine lacks.
template <class Call>
auto guarded(Call call) {
  try {
    return call();
  } catch (...) {
    throw error_in_flight(errc::io, {.stage = "loader"});
  }
}

std::vector<snapshot> decoded(const std::vector<std::string>& parts) {
  std::vector<snapshot> all;
  for (std::size_t i = 0; i < parts.size(); ++i)
    all.push_back(decode(parts[i], "part " + std::to_string(i)));
  return all;
}

void check_has_batch(const char* stage, bool has_batch) {
  if (!has_batch)
    refuse_argument(stage, "an empty lease, which has no batch",
                    "a batch of this loader, or none: then its last one counts");
}

} // namespace

loader::loader(const pipeline& data, loader_options options)
    : seat_(guarded([&] { return make_seat(data, std::move(options)); })) {}

loader::loader(loader&& other) noexcept = default;

loader& loader::operator=(loader&& other) noexcept {
  std::swap(seat_, other.seat_);
  return *this;
}

loader::~loader() {
  if (seat_ && !seat_->mark().home.is_here())
    (void)seat_.release(); // a child cannot end what it did not begin
}

loader_seat& loader::seat() const {
  if (!seat_->mark().home.is_here())
    refuse_child();
  return *seat_;
}

template <class Call>
auto loader::here(Call call) const {
  return guarded([&] { return call(seat()); });
}

template <class Call>
auto loader::running(Call call) const {
  return here([&](loader_seat& x) {
    x.current().check_runtime();
    return call(x);
  });
}

lease loader::next() {
  return running([](loader_seat& x) { return x.next(); });
}

std::optional<std::uint64_t> loader::batches_per_epoch() const {
  return here([](loader_seat& x) {
    const auto& shape = x.job().job().plan->shape;
    return shape.has_length() ? std::optional{shape.batches()} : std::nullopt;
  });
}

void loader::rewind() {
  running([](loader_seat& x) {
    x.check_alone("rewind");
    x.job().rewind();
  });
}

void loader::abandon_epoch() {
  running([](loader_seat& x) { x.job().abandon_epoch(); });
}

std::optional<resume_point> loader::restore(const std::string& path,
                                            const restore_options& options) {
  return running([&](loader_seat& x) {
    check_is_path(path, "restore");
    return x.restore(path, options);
  });
}

resume_point loader::restore_parts(const std::vector<std::string>& parts,
                                   const restore_options& options) {
  return running([&](loader_seat& x) {
    x.check_alone("restore_parts");
    const auto all = decoded(parts);
    return *x.job().restore([&](rank_job& job) {
      resume(job, all, false, options.allow);
      return true;
    });
  });
}

void loader::join() {
  running([](loader_seat& x) { x.join(); });
}

void loader::resume_at(std::uint64_t global_step) {
  running([&](loader_seat& x) { x.resume_at(global_step); });
}

bool loader::has_come_back() const {
  return running([](loader_seat& x) { return x.facts().has_come_back; });
}

std::uint64_t loader::cluster_term() const {
  return running([](loader_seat& x) { return x.facts().term; });
}

void loader::keep(const std::vector<std::string>& parts) {
  here([&](loader_seat& x) { leat::keep(x.job().job(), decoded(parts)); });
}

void loader::let_go(const std::vector<std::string>& parts) {
  here([&](loader_seat& x) { leat::let_go(x.job().job(), decoded(parts)); });
}

void loader::seek(std::uint64_t epoch, std::uint64_t step) {
  running([&](loader_seat& x) {
    x.check_alone("seek");
    const job_position to{epoch, step};
    check_seek(x.job().job_to_begin("seek"), to);
    x.job().move("seek",
                 [&](auto& job, auto& ends, auto& prepare) { leat::seek(job, to, ends, prepare); });
  });
}

void loader::skip_first_batches(std::uint64_t n) {
  running([&](loader_seat& x) {
    x.check_alone("skip_first_batches");
    x.job().move("skip_first_batches", [&](auto& job, auto& ends, auto& prepare) {
      skip_batches(job, n, ends, prepare);
    });
  });
}

void loader::save(const std::string& directory, const batch& after) {
  running([&](loader_seat& x) {
    check_is_path(directory, "save");
    check_has_batch("save", after.after_ != nullptr);
    x.check_lent("save", *after.after_, *after.desk_);
    x.save(directory, *after.after_);
  });
}

void loader::save(const std::string& directory) {
  running([&](loader_seat& x) {
    check_is_path(directory, "save");
    x.save(directory, x.job().job().at);
  });
}

void loader::wait_saved() {
  here([](loader_seat& x) { x.wait_saved(); });
}

void loader::finish() {
  running([](loader_seat& x) { x.finish(); });
}

void loader::leave_out_steps(std::uint64_t first, std::uint64_t last) {
  running([&](loader_seat& x) { x.current().leave_out({first, last}); });
}

void loader::set_weights(const std::vector<double>& weights, std::optional<std::uint64_t> from) {
  running([&](loader_seat& x) { x.set_weights(weights, from); });
}

resume_point loader::position() const {
  return here([](loader_seat& x) { return x.job().job().position(); });
}

std::string loader::snapshot() const {
  return here([](loader_seat& x) { return x.job().encoded(); });
}

std::string loader::snapshot(const batch& after) const {
  return here([&](loader_seat& x) {
    check_has_batch("snapshot", after.after_ != nullptr);
    x.check_lent("snapshot", *after.after_, *after.desk_);
    return after.snapshot();
  });
}

void loader::resize_workers(std::size_t workers) {
  running([&](loader_seat& x) { x.job().resize_workers(workers); });
}

void loader::interrupt() {
  here([](loader_seat& x) { x.current().interrupt(); });
}

loader_stats loader::stats() const {
  return here([](loader_seat& x) { return x.stats(); });
}

hash128 loader::data_digest() const {
  return here([](loader_seat& x) { return x.job().job().data_digest; });
}

} // namespace leat
