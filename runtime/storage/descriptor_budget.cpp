#include "runtime/storage/descriptor_budget.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace leat {

namespace {

constexpr std::uint64_t fewest_places = 4;
/// Half of the limit that the `leat` command sets for itself. Each open file takes about a kilobyte
/// of kernel memory.
constexpr std::uint64_t most_places = 32'768;

/// A number for this thread that no other thread has or had.
std::size_t own_number() noexcept {
  static std::atomic<std::size_t> next{0};
  static thread_local constinit std::size_t number = SIZE_MAX;
  if (number == SIZE_MAX)
    number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

bool call_membarrier(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool register_barrier() noexcept {
  return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/// Makes every other thread of the process pass a full memory barrier before this returns.
bool all_pass_barrier() noexcept {
  return call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
         || (register_barrier() && call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

} // namespace

descriptor_budget::descriptor_budget(limit_function limit) noexcept
    : limit_(limit), has_barrier_(register_barrier()) {}

std::size_t descriptor_budget::places() const noexcept {
  return static_cast<std::size_t>(std::clamp(limit_() / 2, fewest_places, most_places));
}

descriptor_budget::place::place(descriptor_budget& in) : in_(&in) {
  {
    const mutex_lock lock{in.mutex_};
    ++in.others_;
  }
  while (in.beyond_places()) { // its result closes a file when it is destroyed
  }
}

descriptor_budget::place::~place() {
  if (!in_ || in_->is_left_behind())
    return;
  const mutex_lock lock{in_->mutex_};
  --in_->others_;
}

/// A reader sets a mark and then checks whether the file is open; the closer first declares it not
/// open and then looks for marks: one of the two sees the other, as each passes a full barrier
/// between its two steps. Closing is rare, so the closer makes the readers pass theirs, where the
/// system has membarrier(2): in each read, a barrier would add 20 ns to the 300 of a pread(2).
descriptor_budget::reading::reading(descriptor_budget& in, kept_file& file) noexcept
    : in_(in), file_(file), mark_(in.begin_reading(file)), is_open_(file.is_open_.load()) {
  if (is_open_ && !file.was_read_.load(std::memory_order_relaxed))
    file.was_read_.store(true, std::memory_order_relaxed);
}

descriptor_budget::reading::~reading() {
  if (mark_)
    mark_->store(nullptr, std::memory_order_release);
  else
    in_.unmarked_.fetch_sub(1, std::memory_order_release);
}

void descriptor_budget::reading::keep(file_descriptor descriptor) {
  const mutex_lock lock{in_.mutex_};
  is_open_ = true;
  if (file_.is_open_.load())
    return;
  file_.place_ = in_.kept_.insert(in_.kept_.end(), &file_);
  file_.descriptor_ = std::move(descriptor);
  file_.was_read_.store(false, std::memory_order_relaxed);
  file_.is_open_.store(true);
}

std::atomic<const kept_file*>* descriptor_budget::begin_reading(const kept_file& x) noexcept {
  const auto number = own_number();
  if (number < own_marks_.size() && !own_marks_[number].file.load(std::memory_order_relaxed)) {
    auto& mark = own_marks_[number].file;
    if (has_barrier_)
      mark.store(&x, std::memory_order_release); // after all reads under the previous mark
    else
      mark.store(&x);
    std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler moves no load above it
    return &mark;
  }
  for (std::size_t i = 0; i < shared_marks_.size(); ++i) {
    auto& mark = shared_marks_[(number + i) % shared_marks_.size()].file;
    const kept_file* none = nullptr;
    if (mark.load(std::memory_order_relaxed) == nullptr && mark.compare_exchange_strong(none, &x))
      return &mark;
  }
  unmarked_.fetch_add(1);
  return nullptr;
}

/// Returns false, and leaves the file open, if a thread is reading it.
bool descriptor_budget::close_to_readers(kept_file& x) const noexcept {
  x.is_open_.store(false);
  if ((!has_barrier_ || all_pass_barrier()) && !is_read(x))
    return true;
  x.is_open_.store(true);
  return false;
}

bool descriptor_budget::is_read(const kept_file& x) const noexcept {
  const auto is_of_it = [&](const mark& m) { return m.file.load() == &x; };
  return unmarked_.load() > 0 || std::any_of(own_marks_.begin(), own_marks_.end(), is_of_it)
         || std::any_of(shared_marks_.begin(), shared_marks_.end(), is_of_it);
}

void descriptor_budget::close(kept_file& x) noexcept {
  if (is_left_behind())
    return;
  file_descriptor closed; // without the lock
  const mutex_lock lock{mutex_};
  if (x.is_open_.exchange(false))
    closed = take_out(x);
}

bool descriptor_budget::close_half() noexcept {
  std::size_t left = 1;
  bool has_closed = false;
  for (std::size_t done = 0; done < left; ++done) {
    file_descriptor closed;
    const mutex_lock lock{mutex_};
    if (done == 0)
      left = (kept_.size() + 1) / 2;
    closed = take_least_recent();
    if (!closed)
      break;
    has_closed = true;
  }
  return has_closed;
}

/// Takes a file out to be closed by the caller without the lock, since close(2) may take a while;
/// empty if there are places left.
file_descriptor descriptor_budget::beyond_places() {
  const auto all = places();
  const mutex_lock lock{mutex_};
  const auto for_kept = std::max(all - std::min(all, others_), all / 4);
  return kept_.size() > for_kept ? take_least_recent() : file_descriptor{};
}

/// The clock algorithm: a file that was read since it came to the end of the list, or is being
/// read, goes back to the end. Each is looked at twice at most, since other threads keep reading.
file_descriptor descriptor_budget::take_least_recent() {
  for (auto looks = 2 * kept_.size(); looks > 0; --looks) {
    auto& x = *kept_.front();
    if (!x.was_read_.exchange(false, std::memory_order_relaxed) && close_to_readers(x))
      return take_out(x);
    kept_.splice(kept_.end(), kept_, kept_.begin());
  }
  return {};
}

file_descriptor descriptor_budget::take_out(kept_file& x) {
  kept_.erase(x.place_);
  return std::move(x.descriptor_);
}

descriptor_budget& process_descriptors() noexcept {
  union undestroyed {
    undestroyed() noexcept : only() {}
    ~undestroyed() {}
    descriptor_budget only;
  };
  if (is_maimed_by_fork()) {
    static undestroyed of_child;
    return of_child.only;
  }
  static undestroyed of_first;
  return of_first.only;
}

} // namespace leat
