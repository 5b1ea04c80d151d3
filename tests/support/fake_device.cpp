#include "tests/support/fake_device.hpp"

#include "tests/support/fake_kernels.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace leat::test {

namespace {

constexpr std::array<const char*, num_fake_calls> call_names = {
    "pin",       "unpin", "allocate", "release",   "make_stream", "end_stream", "make_event",
    "end_event", "copy",  "record",   "wait",      "is_reached",  "wait_here",  "wait_for_all",
    "kernels",   "find",  "launch",   "copy_back", "copy_within", "clear"};

/// Null, as CUDA's legacy default stream is written too.
void* const legacy_stream = reinterpret_cast<void*>(1);
void* const stream_of_thread = reinterpret_cast<void*>(2);

/// Handles of streams and events are numbers that no default stream has.
void* handle_of(std::uint64_t id) {
  return reinterpret_cast<void*>(0x1000 + 16 * id);
}

/// Whether there is something of each id.
template <class Map>
bool have_all(const Map& held, const std::vector<std::uint64_t>& ids) {
  return std::all_of(ids.begin(), ids.end(), [&](auto id) {
    return std::any_of(held.begin(), held.end(), [&](auto& x) { return x.second.id == id; });
  });
}

} // namespace

fake_device::fake_device(std::uint64_t seed, fake_order order, int number)
    : number_(number), random_(seed), order_(order),
      kernels_(std::make_unique<fake_kernels>(*this)) {
  streams_[legacy_stream].is_trainers = true;
}

fake_device::~fake_device() = default;

// -- calls

void fake_device::count(fake_call what) {
  ++counts_.calls[static_cast<std::size_t>(what)];
}

void fake_device::refuse(const std::string& what) const {
  throw error(errc::device, {.stage = name(), .got = what, .needed = "what a device can do"});
}

void fake_device::forbid(const std::string& what) {
  problem(what);
  refuse(what);
}

void fake_device::enter(fake_call what) {
  count(what);
  const auto i = static_cast<std::size_t>(what);
  if (is_lost_)
    refuse(std::string{"the fake device is lost, in "} + call_names[i]);
  if (failing_[i] > 0 && --failing_[i] == 0)
    refuse(std::string{"the fake device shall fail in "} + call_names[i]);
  run_some();
}

std::optional<std::string> fake_device::pin(std::byte* at, std::size_t bytes) {
  const mutex_lock lock{mutex_};
  try {
    enter(fake_call::pin);
  } catch (const error& x) {
    return x.details().got;
  }
  if (pin_refusal_)
    return pin_refusal_;
  const auto after = pages_.lower_bound(at + bytes);
  if (after != pages_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > at)
    return "the fake device has pinned them already";
  pages_[at] = {next_id_++, bytes};
  counts_.pinned_bytes += bytes;
  return std::nullopt;
}

void fake_device::unpin(std::byte* at) noexcept {
  const mutex_lock lock{mutex_};
  count(fake_call::unpin);
  const auto found = pages_.find(at);
  if (found == pages_.end())
    return problem("pages are unpinned that are not pinned");
  if (!is_lost_ && is_in_use(&operation::pages, found->second.id))
    problem("pages are unpinned that a copy still reads");
  counts_.pinned_bytes -= found->second.bytes;
  pages_.erase(found);
}

std::byte* fake_device::allocate(std::size_t bytes) {
  const mutex_lock lock{mutex_};
  bool is_there = true;
  try {
    enter(fake_call::allocate);
  } catch (const error&) {
    if (is_lost_)
      throw;
    is_there = false;
  }
  if (!is_there || bytes > most_memory_ - std::min(most_memory_, counts_.device_bytes))
    throw error(errc::no_resources, {.stage = name(),
                                     .got = "no memory of the fake device",
                                     .needed = std::to_string(bytes) + " bytes"});
  if (bytes == 0)
    refuse("memory of 0 bytes");
  memory x{next_id_++, bytes, unset_memory{bytes}};
  auto* const at = x.owner.data();
  memory_[at] = std::move(x);
  counts_.device_bytes += bytes;
  return at;
}

void fake_device::release(std::byte* at) noexcept {
  const mutex_lock lock{mutex_};
  count(fake_call::release);
  const auto found = memory_.find(at);
  if (found == memory_.end())
    return problem("memory is released that is not held");
  if (!is_lost_ && is_in_use(&operation::memory, found->second.id))
    problem("memory is released that a stream still uses");
  counts_.device_bytes -= found->second.bytes;
  memory_.erase(found);
}

device_stream fake_device::make_stream() {
  const mutex_lock lock{mutex_};
  enter(fake_call::make_stream);
  ++counts_.streams;
  return add_stream(false);
}

void fake_device::end_stream(device_stream x) noexcept {
  const mutex_lock lock{mutex_};
  count(fake_call::end_stream);
  --counts_.streams;
  end(x, false);
}

device_event fake_device::make_event() {
  const mutex_lock lock{mutex_};
  enter(fake_call::make_event);
  ++counts_.events;
  auto* const handle = handle_of(next_id_++);
  events_[handle] = nullptr;
  return {handle};
}

void fake_device::end_event(device_event x) noexcept {
  const mutex_lock lock{mutex_};
  count(fake_call::end_event);
  if (events_.erase(x.handle) == 0)
    return problem("an event is ended that there is not");
  --counts_.events;
}

void fake_device::copy(std::byte* to, const std::byte* from, std::size_t bytes, device_stream on) {
  const mutex_lock lock{mutex_};
  enter(fake_call::copy);
  operation x;
  x.memory = {memory_at(to, bytes)};
  if (x.memory[0] == 0)
    forbid("a copy to memory that the device has not");
  auto* const key = key_of(on);
  stream_of(on);
  counts_.copied_bytes += bytes;
  if (const auto pinned = pages_at(from, bytes)) {
    x.pages = {pinned};
    x.kernel = [to, from, bytes] { std::memcpy(to, from, bytes); };
  } else { // what is not pinned is read before the call returns, and may be copied later
    ++counts_.unpinned_copies;
    if (order_ == fake_order::random && draw(2))
      drain(key);
    x.kernel = [to, staged = std::vector<std::byte>(from, from + bytes)] {
      std::copy(staged.begin(), staged.end(), to);
    };
  }
  add(on, std::move(x));
}

void fake_device::record(device_event mark, device_stream in) {
  const mutex_lock lock{mutex_};
  enter(fake_call::record);
  auto& at = place_of(mark);
  stream_of(in);
  at = std::make_shared<place>(place{key_of(in)});
  operation x;
  x.records = at;
  add(in, std::move(x));
}

void fake_device::wait(device_stream waits, device_event for_mark) {
  const mutex_lock lock{mutex_};
  enter(fake_call::wait);
  operation x;
  x.waits = place_of(for_mark); // the place that the mark has now
  stream_of(waits);
  if (x.waits)
    add(waits, std::move(x));
}

bool fake_device::is_reached(device_event mark) {
  const mutex_lock lock{mutex_};
  enter(fake_call::is_reached);
  const auto& at = place_of(mark);
  return !at || at->is_reached;
}

void fake_device::wait_here(device_event mark) {
  const mutex_lock lock{mutex_};
  ++waits_[std::this_thread::get_id()];
  enter(fake_call::wait_here);
  if (const auto at = place_of(mark))
    reach(at);
}

void fake_device::wait_for_all() {
  const mutex_lock lock{mutex_};
  ++waits_[std::this_thread::get_id()];
  enter(fake_call::wait_for_all);
  while (run_any()) {
  }
}

// -- what happened, and what shall fail

void fake_device::problem(std::string text) {
  const mutex_lock lock{problems_mutex_};
  problems_.push_back(std::move(text));
}

std::vector<std::string> fake_device::problems() const {
  const mutex_lock lock{problems_mutex_};
  return problems_;
}

fake_counts fake_device::counts() const {
  const mutex_lock lock{mutex_};
  return counts_;
}

std::uint64_t fake_device::waits_of(std::thread::id x) const {
  const mutex_lock lock{mutex_};
  const auto found = waits_.find(x);
  return found == waits_.end() ? 0 : found->second;
}

void fake_device::fail(fake_call what, std::uint64_t n) {
  const mutex_lock lock{mutex_};
  failing_[static_cast<std::size_t>(what)] = n;
}

void fake_device::lose() {
  const mutex_lock lock{mutex_};
  is_lost_ = true;
  for (auto& [key, x] : streams_)
    x.work.clear();
}

void fake_device::refuse_pins(std::string reason) {
  const mutex_lock lock{mutex_};
  pin_refusal_ = std::move(reason);
}

void fake_device::limit_memory(std::uint64_t bytes) {
  const mutex_lock lock{mutex_};
  most_memory_ = bytes;
}

void fake_device::set_order(fake_order x) {
  const mutex_lock lock{mutex_};
  order_ = x;
}

// -- streams

void* fake_device::key_of(device_stream x) {
  if (!x.handle)
    return legacy_stream;
  if (x.handle != stream_of_thread)
    return x.handle;
  auto& key = streams_of_threads_[std::this_thread::get_id()];
  if (!key)
    key = add_stream(true).handle;
  return key;
}

fake_device::stream& fake_device::stream_of(device_stream x) {
  const auto found = streams_.find(key_of(x));
  if (found != streams_.end() && !found->second.is_ended)
    return found->second;
  refuse("a stream that it does not know");
}

fake_device::place_ptr& fake_device::place_of(device_event x) {
  const auto found = events_.find(x.handle);
  if (found != events_.end())
    return found->second;
  forbid("an event is used that there is not");
}

device_stream fake_device::add_stream(bool is_trainers) {
  auto* const handle = handle_of(next_id_++);
  streams_[handle].is_trainers = is_trainers;
  return {handle};
}

void fake_device::end(device_stream x, bool is_trainers) {
  const auto found = streams_.find(key_of(x));
  if (found == streams_.end() || found->second.is_ended || found->second.is_trainers != is_trainers)
    return problem("a stream is ended that there is not");
  found->second.is_ended = true;
}

std::uint64_t fake_device::memory_at(const std::byte* at, std::size_t bytes) const {
  const auto after = memory_.upper_bound(at);
  if (after == memory_.begin())
    return 0;
  const auto& [begin, found] = *std::prev(after);
  return at + bytes <= begin + found.bytes ? found.id : 0;
}

std::uint64_t fake_device::pages_at(const std::byte* at, std::size_t bytes) {
  const auto after = pages_.upper_bound(at);
  if (after == pages_.begin())
    return 0;
  const auto& [begin, found] = *std::prev(after);
  if (at >= begin + found.bytes)
    return 0;
  if (at + bytes > begin + found.bytes)
    problem("a copy beyond the end of pinned pages");
  return found.id;
}

bool fake_device::has_memory(const std::vector<std::uint64_t>& ids) const {
  return have_all(memory_, ids);
}

bool fake_device::has_pages(const std::vector<std::uint64_t>& ids) const {
  return have_all(pages_, ids);
}

bool fake_device::is_in_use(std::vector<std::uint64_t> operation::*what, std::uint64_t id) const {
  for (const auto& [key, in] : streams_)
    for (const auto& x : in.work)
      if (std::count((x.*what).begin(), (x.*what).end(), id) > 0)
        return true;
  return false;
}

// -- work

void fake_device::add(device_stream on, operation x) {
  stream_of(on).work.push_back(std::move(x));
  if (order_ == fake_order::eager || order_ == fake_order::idle)
    run_some();
}

bool fake_device::can_run(const stream& x) {
  return !x.work.empty() && (!x.work.front().waits || x.work.front().waits->is_reached);
}

void fake_device::run_one(std::map<void*, stream>::iterator in) {
  auto x = std::move(in->second.work.front());
  in->second.work.pop_front();
  if (x.records)
    x.records->is_reached = true;
  if (!has_memory(x.memory))
    problem("a stream uses memory that was released");
  else if (!has_pages(x.pages))
    problem("a copy reads pages that were unpinned");
  else if (x.kernel && order_ != fake_order::idle)
    x.kernel();
}

bool fake_device::run_any() {
  std::vector<std::map<void*, stream>::iterator> all;
  for (auto i = streams_.begin(); i != streams_.end(); ++i)
    if (can_run(i->second))
      all.push_back(i);
  if (all.empty())
    return false;
  run_one(all[random_() % all.size()]);
  return true;
}

/// A device that does a little at every call is soon done with all that it has: it rests for long.
void fake_device::run_some() {
  if (order_ == fake_order::eager || order_ == fake_order::idle)
    while (run_any()) {
    }
  if (order_ != fake_order::random)
    return;
  if (draw(24))
    pace_ = random_() % 6;
  if (pace_ == 1 ? draw(8) : pace_ == 2)
    while (run_any() && !draw(3)) {
    }
}

/// A mark is waited for by what was given later: this ends.
void fake_device::reach(const place_ptr& x) {
  const bool does_more = order_ == fake_order::random && draw(4);
  while (!x->is_reached) {
    if (does_more) {
      run_any();
      continue;
    }
    const auto in = streams_.find(x->stream);
    if (can_run(in->second))
      run_one(in);
    else
      reach(in->second.work.front().waits);
  }
}

void fake_device::drain(void* key) {
  const auto in = streams_.find(key);
  if (in == streams_.end())
    return;
  while (!in->second.work.empty())
    if (can_run(in->second))
      run_one(in);
    else
      reach(in->second.work.front().waits);
}

} // namespace leat::test
