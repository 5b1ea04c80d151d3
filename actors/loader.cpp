#include "actors/loader_checks.hpp"
#include "actors/loader_seat.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/job/resume.hpp"

#include <leat/loader.hpp>

#include <utility>

namespace leat {

namespace {

/// All exceptions have one type, also those for what the machine lacks.
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
    : seat_(guarded([&] { return std::make_unique<loader_seat>(data, std::move(options)); })) {}

loader::loader(loader&& other) noexcept = default;

loader& loader::operator=(loader&& other) noexcept {
  std::swap(seat_, other.seat_);
  return *this;
}

loader::~loader() {
  if (seat_ && !seat_->is_here())
    (void)seat_.release(); // a child cannot end what it did not begin
}

loader_seat& loader::seat() const {
  if (!seat_->is_here())
    refuse_child();
  return *seat_;
}

loader_job& loader::job() const {
  return seat().job();
}

loader_seat& loader::running_seat() const {
  seat().check_runtime();
  return *seat_;
}

loader_job& loader::running_job() const {
  return running_seat().job();
}

loader_job& loader::lone_job(const char* stage) const {
  return running_seat().lone_job(stage);
}

lease loader::next() {
  return guarded([&] { return running_seat().next(); });
}

std::optional<std::uint64_t> loader::batches_per_epoch() const {
  return guarded([&] {
    const auto& shape = job().job().plan->shape;
    return shape.has_length() ? std::optional{shape.batches()} : std::nullopt;
  });
}

void loader::rewind() {
  guarded([&] { lone_job("rewind").rewind(); });
}

void loader::abandon_epoch() {
  guarded([&] { running_job().abandon_epoch(); });
}

std::optional<resume_point> loader::restore(const std::string& path,
                                            const restore_options& options) {
  return guarded([&] { return running_seat().restore(path, options); });
}

resume_point loader::restore_parts(const std::vector<std::string>& parts,
                                   const restore_options& options) {
  return guarded([&] { return lone_job("restore_parts").restore(decoded(parts), false, options); });
}

void loader::join() {
  guarded([&] { running_seat().join(); });
}

void loader::resume_at(std::uint64_t global_step) {
  guarded([&] { running_seat().resume_at(global_step); });
}

bool loader::has_come_back() const {
  return guarded([&] { return running_seat().has_come_back(); });
}

std::uint64_t loader::cluster_term() const {
  return guarded([&] { return running_seat().cluster_term(); });
}

void loader::keep(const std::vector<std::string>& parts) {
  guarded([&] { leat::keep(job().job(), decoded(parts)); });
}

void loader::let_go(const std::vector<std::string>& parts) {
  guarded([&] { leat::let_go(job().job(), decoded(parts)); });
}

void loader::seek(std::uint64_t epoch, std::uint64_t step) {
  guarded([&] { lone_job("seek").seek({epoch, step}); });
}

void loader::skip_first_batches(std::uint64_t n) {
  guarded([&] { lone_job("skip_first_batches").skip_batches(n); });
}

void loader::save(const std::string& directory, const batch& after) {
  guarded([&] {
    auto& seat = running_seat();
    check_has_batch("save", after.after_ != nullptr);
    seat.save(directory, *after.after_, after.desk_.get());
  });
}

void loader::save(const std::string& directory) {
  guarded([&] { running_seat().save(directory, job().job().at, nullptr); });
}

void loader::wait_saved() {
  guarded([&] { seat().wait_saved(); });
}

void loader::finish() {
  guarded([&] { running_seat().finish(); });
}

void loader::leave_out_steps(std::uint64_t first, std::uint64_t last) {
  guarded([&] { running_seat().leave_out({first, last}); });
}

void loader::set_weights(const std::vector<double>& weights, std::optional<std::uint64_t> from) {
  guarded([&] { running_seat().set_weights(weights, from); });
}

resume_point loader::position() const {
  return guarded([&] { return job().position(); });
}

std::string loader::snapshot() const {
  return guarded([&] { return job().encoded(); });
}

std::string loader::snapshot(const batch& after) const {
  return guarded([&] {
    check_has_batch("snapshot", after.after_ != nullptr);
    return seat().snapshot_after(*after.after_, *after.desk_);
  });
}

void loader::resize_workers(std::size_t workers) {
  guarded([&] { running_job().resize_workers(workers); });
}

void loader::interrupt() {
  guarded([&] { seat().interrupt(); });
}

loader_stats loader::stats() const {
  return guarded([&] { return seat().stats(); });
}

hash128 loader::data_digest() const {
  return guarded([&] { return job().job().data_digest; });
}

} // namespace leat
