#include "actors/loader_checks.hpp"
#include "actors/loader_job.hpp"
#include "runtime/base/exception_text.hpp"
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

} // namespace

loader::loader(const pipeline& data, loader_options options)
    : job_(guarded([&] { return std::make_unique<loader_job>(data, std::move(options)); })) {}

loader::loader(loader&& other) noexcept = default;

loader& loader::operator=(loader&& other) noexcept {
  std::swap(job_, other.job_);
  return *this;
}

loader::~loader() {
  if (job_ && !job_->is_here())
    (void)job_.release(); // a child cannot end what it did not begin
}

loader_job& loader::job() const {
  if (!job_->is_here())
    refuse_child();
  return *job_;
}

loader_job& loader::running_job() const {
  job().check_runtime();
  return *job_;
}

lease loader::next() {
  return guarded([&] { return running_job().next(); });
}

std::optional<std::uint64_t> loader::batches_per_epoch() const {
  return guarded([&] {
    const auto& shape = job().job().plan->shape;
    return shape.has_length() ? std::optional{shape.batches()} : std::nullopt;
  });
}

void loader::rewind() {
  guarded([&] { running_job().rewind(); });
}

void loader::abandon_epoch() {
  guarded([&] { running_job().abandon_epoch(); });
}

std::optional<resume_point> loader::restore(const std::string& path,
                                            const restore_options& options) {
  return guarded([&] { return running_job().restore(path, options); });
}

resume_point loader::restore_parts(const std::vector<std::string>& parts,
                                   const restore_options& options) {
  return guarded([&] { return running_job().restore(decoded(parts), false, options); });
}

void loader::keep(const std::vector<std::string>& parts) {
  guarded([&] { leat::keep(job().job(), decoded(parts)); });
}

void loader::let_go(const std::vector<std::string>& parts) {
  guarded([&] { leat::let_go(job().job(), decoded(parts)); });
}

void loader::seek(std::uint64_t epoch, std::uint64_t step) {
  guarded([&] { running_job().seek({epoch, step}); });
}

void loader::skip_first_batches(std::uint64_t n) {
  guarded([&] { running_job().skip_batches(n); });
}

void loader::save(const std::string& directory, const batch& after) {
  guarded([&] { running_job().save(directory, job().job().snapshot_at(*after.after_)); });
}

void loader::save(const std::string& directory) {
  guarded([&] { running_job().save(directory, job().job().snapshot_at(job().job().at)); });
}

void loader::wait_saved() {
  guarded([&] { job().wait_saved(); });
}

void loader::leave_out_steps(std::uint64_t first, std::uint64_t last) {
  guarded([&] { running_job().leave_out({first, last}); });
}

resume_point loader::position() const {
  return guarded([&] { return job().position(); });
}

std::string loader::snapshot() const {
  return guarded([&] { return job().encoded(); });
}

void loader::resize_workers(std::size_t workers) {
  guarded([&] { running_job().resize_workers(workers); });
}

void loader::interrupt() {
  guarded([&] { job().interrupt(); });
}

loader_stats loader::stats() const {
  return guarded([&] { return job().stats(); });
}

hash128 loader::data_digest() const {
  return guarded([&] { return job().job().data_digest; });
}

} // namespace leat
