#include "runtime/storage/stream_ahead.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Reading continues until so many pieces are ready, and resumes when half of them are left. Few,
/// because hundreds of lanes have them; more than one, so that a thread is not woken for too
/// little.
constexpr std::size_t most_ready = 8;

} // namespace

stream_ahead::stream_ahead(std::unique_ptr<byte_stream> of, ahead_threads& by,
                           std::stop_source stop)
    : of_(std::move(of)), by_(by), stop_(std::move(stop)), offset_(of_->offset()),
      restart_(of_->restart()), spare_(most_ready + 1) { // one more for `now_`
  by_.add(*this);
}

stream_ahead::~stream_ahead() {
  stop_.request_stop();
  {
    const mutex_lock lock{mutex_};
    is_over_ = true;
  }
  by_.remove(*this);
}

std::size_t stream_ahead::read(std::span<std::byte> into) {
  if (now_.empty() || (given_ == now_.front().size && given_ > 0))
    take();
  const auto& x = now_.front();
  if (x.failure)
    std::rethrow_exception(x.failure);
  const auto n = std::min(into.size(), x.size - given_);
  std::copy_n(x.memory.begin() + static_cast<std::ptrdiff_t>(given_), n, into.begin());
  given_ += n;
  offset_ += n;
  if (given_ == x.size)
    restart_ = x.restart;
  return n;
}

void stream_ahead::take() {
  const mutex_lock lock{mutex_};
  spare_.splice(spare_.end(), now_);
  given_ = 0;
  while (true) {
    if (!is_added_ && !is_over_ && ready_.size() <= most_ready / 2) {
      by_.add(*this);
      is_added_ = true;
    }
    if (!ready_.empty())
      break;
    came_.wait(mutex_);
  }
  now_.splice(now_.end(), ready_, ready_.begin());
}

bool stream_ahead::run() noexcept {
  pieces next;
  {
    const mutex_lock lock{mutex_};
    next.splice(next.end(), spare_,
                spare_.begin()); // never empty: fewer than most_ready are ready
  }
  read_piece(next.front());
  const mutex_lock lock{mutex_};
  is_over_ = is_over_ || next.front().size == 0;
  ready_.splice(ready_.end(), next);
  is_added_ = !is_over_ && ready_.size() < most_ready;
  came_.notify_one();
  return is_added_;
}

void stream_ahead::read_piece(piece& into) {
  into.size = 0;
  try {
    into.memory.resize(stream_block_bytes);
    into.size = of_->read(into.memory);
    into.restart = of_->restart();
  } catch (...) {
    into.failure = std::current_exception();
  }
}

} // namespace leat
