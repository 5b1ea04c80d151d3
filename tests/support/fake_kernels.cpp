#include "tests/support/fake_kernels.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace leat::test {

fake_kernels::fake_kernels(fake_device& on) : on_(on) {}

device_kernel fake_kernels::find(const char* name) {
  const mutex_lock lock{on_.mutex_};
  on_.enter(fake_call::find);
  const auto found = bodies_.find(name);
  if (found == bodies_.end())
    on_.refuse(std::string{"no kernel "} + name);
  return {&found->second};
}

void fake_kernels::launch(const device_launch& x, std::span<const std::byte> argument,
                          device_stream in) {
  const mutex_lock lock{on_.mutex_};
  on_.enter(fake_call::launch);
  on_.stream_of(in);
  const auto named = std::find_if(bodies_.begin(), bodies_.end(),
                                  [&](auto& one) { return &one.second == x.kernel.handle; });
  const bool has_threads = std::count(x.grid.begin(), x.grid.end(), 0U) == 0;
  if (named == bodies_.end() || !has_threads || x.threads - 1 >= 1024 || x.shared_bytes > 49152)
    on_.forbid("a kernel that there is not, or with more or less threads than a device has");
  fake_device::operation work;
  for (std::size_t at = 0; at + sizeof(std::byte*) <= argument.size(); at += sizeof(std::byte*)) {
    const std::byte* word = nullptr;
    std::memcpy(&word, argument.data() + at, sizeof word);
    if (const auto id = on_.memory_at(word, 1))
      work.memory.push_back(id);
  }
  work.kernel = [body = named->second, copied = std::vector<std::byte>(
                                           argument.begin(), argument.end())] { body(copied); };
  on_.add(in, std::move(work));
}

void fake_kernels::copy_back(std::byte* to, const std::byte* from, std::size_t bytes,
                             device_stream in) {
  const mutex_lock lock{on_.mutex_};
  on_.enter(fake_call::copy_back);
  on_.stream_of(in);
  fake_device::operation work;
  work.memory = {on_.memory_at(from, bytes)};
  if (work.memory[0] == 0)
    on_.forbid("a copy from memory that the device has not");
  work.kernel = [to, from, bytes] { std::memcpy(to, from, bytes); };
  if (on_.order_ == fake_order::idle)
    std::memset(to, 0, bytes);
  const auto pinned = on_.pages_at(to, bytes);
  if (pinned != 0)
    work.pages = {pinned};
  else
    ++on_.counts_.unpinned_copies;
  on_.add(in, std::move(work));
  if (pinned == 0) // which the calling thread waits for
    on_.drain(on_.key_of(in));
}

void fake_kernels::copy_within(std::byte* to, const std::byte* from, std::size_t bytes,
                               device_stream in) {
  const mutex_lock lock{on_.mutex_};
  on_.enter(fake_call::copy_within);
  on_.stream_of(in);
  fake_device::operation work;
  work.memory = {on_.memory_at(to, bytes), on_.memory_at(from, bytes)};
  if (work.memory[0] == 0 || work.memory[1] == 0 || (to < from + bytes && from < to + bytes))
    on_.forbid("a copy within memory that the device has not, or over itself");
  work.kernel = [to, from, bytes] { std::memcpy(to, from, bytes); };
  on_.add(in, std::move(work));
}

void fake_kernels::clear(std::byte* at, std::size_t words, device_stream in) {
  const mutex_lock lock{on_.mutex_};
  on_.enter(fake_call::clear);
  on_.stream_of(in);
  const auto bytes = 4 * words;
  fake_device::operation work;
  work.memory = {on_.memory_at(at, bytes)};
  if (work.memory[0] == 0 || reinterpret_cast<std::uintptr_t>(at) % 4 != 0)
    on_.forbid("memory is cleared that the device has not, or that is no row of words");
  work.kernel = [at, bytes] { std::memset(at, 0, bytes); };
  on_.add(in, std::move(work));
}

device_kernels& fake_device::kernels() {
  const mutex_lock lock{mutex_};
  enter(fake_call::kernels);
  if (kernel_refusal_)
    refuse(*kernel_refusal_);
  return *kernels_;
}

std::unique_ptr<device_jpegs> fake_device::open_jpegs() {
  refuse("no decoder of its maker");
}

void fake_device::define(std::string name, fake_kernels::body body) {
  const mutex_lock lock{mutex_};
  kernels_->bodies_[std::move(name)] = std::move(body);
}

void fake_device::refuse_kernels(std::string reason) {
  const mutex_lock lock{mutex_};
  kernel_refusal_ = std::move(reason);
}

} // namespace leat::test
