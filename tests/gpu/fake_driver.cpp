// A libcuda.so.1 for machines without a GPU: what libleat and device_check call of NVIDIA's driver,
// over memory of the host. It is as late as the driver may be: streams do nothing until a thread
// waits for them, and then no more than it waits for. It has no kernels. Memory that a program has
// not pinned is read at once, as by the driver; what is freed is overwritten first. A stream or an
// event that has ended, or memory that is not the device's, ends the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int no_memory = 2;
constexpr int invalid_device = 101;
constexpr int not_ready = 600;
constexpr int poison = 0xDB;

struct stream;

/// A place of an event in a stream.
struct mark {
  stream* in = nullptr;
  bool is_reached = false;
};
using mark_ptr = std::shared_ptr<mark>;

struct event {
  mark_ptr last;
};

/// A copy, a wait for a mark, or a place of one.
struct work {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  /// Of memory that was not pinned.
  std::vector<std::byte> staged = {};
  mark_ptr waits_for = nullptr;
  mark_ptr reaches = nullptr;
};

struct stream {
  std::deque<work> left;
};

std::mutex guard;
std::set<void*> streams;
std::set<void*> events;
stream default_stream;
std::map<const std::byte*, std::size_t> pinned;
std::map<std::byte*, std::size_t> memory;

void run_until(const mark& end);

void run_first(stream& in) {
  const auto first = std::move(in.left.front());
  in.left.pop_front();
  if (first.bytes > 0)
    std::memcpy(first.to, first.staged.empty() ? first.from : first.staged.data(), first.bytes);
  if (first.waits_for)
    run_until(*first.waits_for);
  if (first.reaches)
    first.reaches->is_reached = true;
}

void run_until(const mark& end) {
  while (!end.is_reached)
    run_first(*end.in);
}

void run_all(stream& in) {
  while (!in.left.empty())
    run_first(in);
}

void run_all() {
  for (auto* x : streams)
    run_all(*static_cast<stream*>(x));
  run_all(default_stream);
}

[[noreturn]] void refuse(const char* call, const char* what) {
  std::fprintf(stderr, "%s: %s\n", call, what);
  std::abort();
}

stream& stream_of(void* x, const char* call) {
  if (x && streams.count(x) == 0)
    refuse(call, "no such stream, or one that has ended");
  return x ? *static_cast<stream*>(x) : default_stream;
}

event& event_of(void* x, const char* call) {
  if (events.count(x) == 0)
    refuse(call, "no such event, or one that has ended");
  return *static_cast<event*>(x);
}

void check_memory(const std::byte* x, std::size_t bytes, const char* call) {
  auto after = memory.upper_bound(const_cast<std::byte*>(x));
  if (after == memory.begin() || x + bytes > std::prev(after)->first + std::prev(after)->second)
    refuse(call, "not memory of the device");
}

bool is_pinned(const std::byte* from, std::size_t bytes) {
  auto after = pinned.upper_bound(from);
  if (after == pinned.begin())
    return false;
  const auto& [begin, size] = *std::prev(after);
  return from + bytes <= begin + size;
}

std::byte* pointer(std::uint64_t x) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(x));
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

int cuInit(unsigned) {
  return success;
}
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return success;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == success ? "CUDA_SUCCESS" : "CUDA_ERROR_OF_THE_FAKE_DRIVER";
  return success;
}
int cuGetErrorString(int, const char** text) {
  *text = "the fake driver refuses this";
  return success;
}
int cuDeviceGetCount(int* n) {
  *n = 1;
  return success;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? success : invalid_device;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "none (the fake driver of the tests)", static_cast<std::size_t>(size));
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &default_stream;
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return success;
}
int cuCtxSetCurrent(void*) {
  return success;
}
int cuCtxPushCurrent_v2(void*) {
  return success;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &default_stream;
  return success;
}
int cuCtxSynchronize() {
  const std::lock_guard lock{guard};
  run_all();
  return success;
}
int cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return success;
}

int cuMemHostRegister_v2(void* pages, std::size_t bytes, unsigned) {
  const std::lock_guard lock{guard};
  const bool is_new = pinned.emplace(static_cast<std::byte*>(pages), bytes).second;
  return is_new ? success : invalid_value;
}
int cuMemHostUnregister(void* pages) {
  const std::lock_guard lock{guard};
  return pinned.erase(static_cast<std::byte*>(pages)) == 1 ? success : invalid_value;
}
int cuMemAlloc_v2(std::uint64_t* to, std::size_t bytes) {
  auto* x = static_cast<std::byte*>(std::malloc(bytes));
  if (!x)
    return no_memory;
  std::memset(x, poison, bytes);
  const std::lock_guard lock{guard};
  memory.emplace(x, bytes);
  *to = reinterpret_cast<std::uintptr_t>(x);
  return success;
}
int cuMemFree_v2(std::uint64_t x) {
  const std::lock_guard lock{guard};
  run_all();
  const auto found = memory.find(pointer(x));
  if (found == memory.end())
    return invalid_value;
  std::memset(found->first, poison, found->second);
  std::free(found->first);
  memory.erase(found);
  return success;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return success;
}

int cuStreamCreate(void** to, unsigned) {
  const std::lock_guard lock{guard};
  *to = *streams.insert(new stream).first;
  return success;
}
int cuStreamCreateWithPriority(void** to, unsigned flags, int) {
  return cuStreamCreate(to, flags);
}
int cuStreamDestroy_v2(void* x) {
  const std::lock_guard lock{guard};
  auto* old = &stream_of(x, __func__);
  run_all(*old);
  streams.erase(old);
  delete old;
  return success;
}
int cuStreamSynchronize(void* x) {
  const std::lock_guard lock{guard};
  run_all(stream_of(x, __func__));
  return success;
}
int cuStreamWaitEvent(void* waits, void* x, unsigned) {
  const std::lock_guard lock{guard};
  if (const auto& last = event_of(x, __func__).last; last && !last->is_reached)
    stream_of(waits, __func__).left.push_back({.waits_for = last});
  return success;
}

int cuEventCreate(void** to, unsigned) {
  const std::lock_guard lock{guard};
  *to = *events.insert(new event).first;
  return success;
}
int cuEventDestroy_v2(void* x) {
  const std::lock_guard lock{guard};
  delete &event_of(x, __func__);
  events.erase(x);
  return success;
}
int cuEventRecord(void* x, void* in) {
  const std::lock_guard lock{guard};
  auto last = std::make_shared<mark>(mark{&stream_of(in, __func__)});
  event_of(x, __func__).last = last;
  stream_of(in, __func__).left.push_back({.reaches = std::move(last)});
  return success;
}
int cuEventQuery(void* x) {
  const std::lock_guard lock{guard};
  const auto& last = event_of(x, __func__).last;
  return !last || last->is_reached ? success : not_ready;
}
int cuEventSynchronize(void* x) {
  const std::lock_guard lock{guard};
  if (const auto last = event_of(x, __func__).last)
    run_until(*last);
  return success;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* in) {
  const std::lock_guard lock{guard};
  check_memory(pointer(to), bytes, __func__);
  const auto* begin = static_cast<const std::byte*>(from);
  work x{.to = pointer(to), .from = begin, .bytes = bytes};
  if (!is_pinned(begin, bytes))
    x.staged.assign(begin, begin + bytes);
  stream_of(in, __func__).left.push_back(std::move(x));
  return success;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* in) {
  const std::lock_guard lock{guard};
  check_memory(pointer(to), bytes, __func__);
  check_memory(pointer(from), bytes, __func__);
  stream_of(in, __func__)
      .left.push_back({.to = pointer(to), .from = pointer(from), .bytes = bytes});
  return success;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const std::lock_guard lock{guard};
  run_all(default_stream);
  std::memcpy(to, pointer(from), bytes);
  return success;
}

} // extern "C"
#pragma GCC visibility pop
