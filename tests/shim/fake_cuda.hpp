#pragma once

// What the functions of a driver that is made up share: fake_cuda.cpp says what it is.

#include "tests/support/fake_device.hpp"
#include "tests/support/host_kernels.hpp"

#include <leat/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#define LEAT_CUDA_CALL __attribute__((visibility("default")))

namespace leat::fake_cuda {

using test::fake_device;
using test::fake_order;

enum code : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  already_registered = 712,
  capture_unsupported = 900,
};

/// A word of LEAT_FAKE_CUDA, read anew at each call: tests may change it.
inline std::string setting(const std::string& name) {
  const char* all = std::getenv("LEAT_FAKE_CUDA");
  const std::string text = std::string{","} + (all ? all : "") + ',';
  const auto at = text.find("," + name + "=");
  if (at == std::string::npos)
    return {};
  const auto begin = at + name.size() + 2;
  return text.substr(begin, text.find(',', begin) - begin);
}

inline std::uint64_t number(const std::string& name, std::uint64_t otherwise) {
  const auto text = setting(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

struct gpu {
  explicit gpu(int i) : device(number("seed", 1) + static_cast<std::uint64_t>(i), order(), i) {
    device.limit_memory(memory);
    test::define_kernels(device);
  }
  static fake_order order() {
    const auto mode = setting("mode");
    return mode == "eager"  ? fake_order::eager
           : mode == "lazy" ? fake_order::lazy
           : mode == "idle" ? fake_order::idle
                            : fake_order::random;
  }

  bool is_of_leat(void* stream) {
    const std::lock_guard lock{mutex};
    return streams_of_leat.count(stream) > 0;
  }

  const std::uint64_t memory = number("memory", std::uint64_t{1} << 40);
  fake_device device;
  std::mutex mutex;
  std::set<void*> streams_of_leat;
  int references = 0;
  std::atomic<int> modules{0};
  std::atomic<std::uint64_t> copies{0};
  std::atomic<bool> is_lost{false};
};

/// The device of the context that calls of this thread mean; a code if none can be called.
int find_gpu(gpu*& found);

/// What a function makes of that device, as a code.
template <class Function>
int with_gpu(Function function) {
  gpu* x = nullptr;
  if (const auto code = find_gpu(x); code != success)
    return code;
  try {
    return function(*x);
  } catch (const leat::error& problem) {
    if (x->is_lost)
      return illegal_address;
    return problem.code() == leat::errc::no_resources ? out_of_memory : invalid_handle;
  }
}

inline std::byte* address(unsigned long long x) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(x));
}

} // namespace leat::fake_cuda
