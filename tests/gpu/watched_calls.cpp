#include "tests/gpu/watched_calls.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace leat::gpu_check {

namespace {

struct entry {
  const char* name;
  void* watched;
  std::atomic<void*> real{nullptr};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> by_trainer{0};
  std::atomic<std::uint64_t> longest_by_trainer_ns{0};
};

thread_local bool is_trainer = false;
std::atomic<bool> refuses_pin{false};

entry& entry_of(std::size_t i);

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count());
}

void note(entry& x, std::uint64_t begin) {
  ++x.calls;
  if (!is_trainer)
    return;
  ++x.by_trainer;
  const auto took = now_ns() - begin;
  auto longest = x.longest_by_trainer_ns.load();
  while (took > longest && !x.longest_by_trainer_ns.compare_exchange_weak(longest, took))
    ;
}

template <std::size_t I, class... Arguments>
int watched(Arguments... arguments) {
  auto& x = entry_of(I);
  const auto begin = now_ns();
  const auto code = reinterpret_cast<int (*)(Arguments...)>(x.real.load())(arguments...);
  note(x, begin);
  return code;
}

int pin(void* pages, std::size_t bytes, unsigned flags);

template <class Function>
void* address_of(Function* x) {
  return reinterpret_cast<void*>(x);
}

/// Those that take memory, make something, wait, or are called for each batch.
std::array<entry, 18>& entries() {
  using address = std::uint64_t;
  static std::array<entry, 18> all = {
      entry{"cuMemHostRegister_v2", address_of(&pin)},
      entry{"cuMemHostUnregister", address_of(&watched<1, void*>)},
      entry{"cuMemAlloc_v2", address_of(&watched<2, address*, std::size_t>)},
      entry{"cuMemFree_v2", address_of(&watched<3, address>)},
      entry{"cuStreamCreateWithPriority", address_of(&watched<4, void**, unsigned, int>)},
      entry{"cuStreamDestroy_v2", address_of(&watched<5, void*>)},
      entry{"cuEventCreate", address_of(&watched<6, void**, unsigned>)},
      entry{"cuEventDestroy_v2", address_of(&watched<7, void*>)},
      entry{"cuEventSynchronize", address_of(&watched<8, void*>)},
      entry{"cuCtxSynchronize", address_of(&watched<9>)},
      entry{"cuMemcpyHtoDAsync_v2",
            address_of(&watched<10, address, const void*, std::size_t, void*>)},
      entry{"cuStreamWaitEvent", address_of(&watched<11, void*, void*, unsigned>)},
      entry{"cuEventRecord", address_of(&watched<12, void*, void*>)},
      entry{"cuEventQuery", address_of(&watched<13, void*>)},
      entry{"cuMemcpyDtoHAsync_v2", address_of(&watched<14, void*, address, std::size_t, void*>)},
      entry{"cuMemsetD32Async", address_of(&watched<15, address, unsigned, std::size_t, void*>)},
      entry{"cuModuleLoadData", address_of(&watched<16, void**, const void*>)},
      entry{"cuLaunchKernel",
            address_of(&watched<17, void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, void*, void**, void**>)}};
  return all;
}

entry& entry_of(std::size_t i) {
  return entries()[i];
}

int pin(void* pages, std::size_t bytes, unsigned flags) {
  constexpr int not_permitted = 800; // CUDA_ERROR_NOT_PERMITTED
  return refuses_pin ? not_permitted : watched<0>(pages, bytes, flags);
}

bool is_leat(const void* caller) {
  Dl_info found = {};
  return ::dladdr(caller, &found) != 0 && found.dli_fname
         && std::strstr(found.dli_fname, "libleat.so");
}

using dlsym_call = void* (*)(void*, const char*);

dlsym_call real_dlsym() {
  static const auto found = [] {
    for (const auto* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
      if (auto* x = ::dlvsym(RTLD_NEXT, "dlsym", version))
        return reinterpret_cast<dlsym_call>(x);
    return dlsym_call{};
  }();
  return found;
}

} // namespace

void be_trainer() noexcept {
  is_trainer = true;
}

void watch_again() noexcept {
  for (auto& x : entries()) {
    x.calls = 0;
    x.by_trainer = 0;
    x.longest_by_trainer_ns = 0;
  }
}

std::vector<watched_call> watched_calls() {
  std::vector<watched_call> result;
  for (auto& x : entries())
    if (x.calls > 0)
      result.push_back({x.name, x.calls, x.by_trainer, x.longest_by_trainer_ns});
  return result;
}

void refuse_to_pin() noexcept {
  refuses_pin = true;
}

} // namespace leat::gpu_check

/// A call with RTLD_NEXT is the caller's own, so that the C library must be left by a jump
/// (-foptimize-sibling-calls).
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  using namespace leat::gpu_check;
  if (std::strncmp(name, "cu", 2) == 0 && is_leat(__builtin_return_address(0)))
    for (auto& x : entries())
      if (std::strcmp(x.name, name) == 0) {
        auto* real = real_dlsym()(handle, name);
        x.real = real;
        return real ? x.watched : nullptr;
      }
  return real_dlsym()(handle, name);
}
