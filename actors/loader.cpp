#include "actors/loader_core.hpp"
#include "runtime/base/exception_text.hpp"

#include <leat/loader.hpp>

#include <utility>

namespace leat {

namespace {

/// There is one type of exceptions, also for what the machine lacks.
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
    : core_(guarded([&] { return std::make_shared<loader_core>(data, std::move(options)); })) {}

loader::loader(loader&& other) noexcept = default;

loader& loader::operator=(loader&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}

loader::~loader() {
  if (core_ && core_->is_here())
    core_->shutdown();
  else if (core_)
    loader_core::leave_to_parent(std::move(core_));
}

loader_core& loader::core() const {
  core_->check_here();
  return *core_;
}

lease loader::next() {
  return guarded([&] { return core().next(); });
}

std::optional<std::uint64_t> loader::batches_per_epoch() const {
  return guarded([&] { return core().batches_per_epoch(); });
}

void loader::rewind() {
  guarded([&] { core().rewind(); });
}

void loader::abandon_epoch() {
  guarded([&] { core().abandon_epoch(); });
}

std::optional<resume_point> loader::restore(const std::string& directory,
                                            const restore_options& options) {
  return guarded([&] { return core().restore(directory, options); });
}

resume_point loader::restore_parts(const std::vector<std::string>& parts,
                                   const restore_options& options) {
  return guarded([&] { return core().restore(decoded(parts), false, options); });
}

void loader::keep(const std::vector<std::string>& parts) {
  guarded([&] { core().keep(decoded(parts)); });
}

void loader::let_go(const std::vector<std::string>& parts) {
  guarded([&] { core().let_go(decoded(parts)); });
}

void loader::seek(std::uint64_t epoch, std::uint64_t step) {
  guarded([&] { core().seek({epoch, step}); });
}

void loader::skip_first_batches(std::uint64_t n) {
  guarded([&] { core().skip_first_batches(n); });
}

void loader::save(const std::string& directory, const batch& after) {
  guarded([&] { core().save(directory, core().state_after(after)); });
}

void loader::save(const std::string& directory) {
  guarded([&] { core().save(directory, core().state()); });
}

void loader::wait_saved() {
  guarded([&] { core().wait_saved(); });
}

void loader::leave_out_steps(std::uint64_t first, std::uint64_t last) {
  guarded([&] { core().leave_out({first, last}); });
}

resume_point loader::position() const {
  return guarded([&] { return core().position(); });
}

std::string loader::snapshot() const {
  return guarded([&] { return core().encoded_state(); });
}

void loader::resize_workers(std::size_t workers) {
  guarded([&] { core().resize_workers(workers); });
}

loader_stats loader::stats() const {
  return guarded([&] { return core().stats(); });
}

hash128 loader::data_digest() const {
  return guarded([&] { return core().attempt().data_digest; });
}

} // namespace leat
