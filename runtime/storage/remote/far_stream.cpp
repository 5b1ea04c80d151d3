#include "runtime/storage/remote/far_stream.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/read_now.hpp"

#include <algorithm>
#include <utility>

namespace leat {

far_stream::far_stream(stored_objects& from, std::size_t object, std::uint64_t offset,
                       std::uint64_t end, byte_budget& budget, transfer_counts& counts)
    : from_(from), object_(object), offset_(offset), end_(end),
      buffers_(std::make_shared<read_buffers>(budget)), counts_(counts), next_(offset) {}

far_stream::~far_stream() {
  stop_.request_stop();
  {
    const mutex_lock lock{mutex_};
    while (in_flight_ > 0)
      came_.wait(mutex_);
  }
  while (!ahead_.empty())
    drop_first();
}

std::size_t far_stream::read(std::span<std::byte> into) {
  if (offset_ >= end_)
    return 0;
  begin_some();
  auto& x = *ahead_.front();
  wait_for(x);
  if (x.result.failure)
    throw error(*x.result.failure);
  const auto at = static_cast<std::size_t>(offset_ - x.begin);
  if (at >= x.result.bytes) { // the store gave less than it was asked for: the rest is read now
    const auto got = static_cast<std::size_t>(x.result.bytes);
    read_now(from_, object_, x.begin + got, std::span{x.bytes.get(), x.size}.subspan(got),
             stop_.get_token());
    x.result.bytes = x.size;
  }
  const auto n = std::min(into.size(), static_cast<std::size_t>(x.result.bytes) - at);
  std::copy_n(x.bytes.get() + at, n, into.begin());
  offset_ += n;
  if (offset_ == x.begin + x.size) {
    drop_first();
    if (block_bytes_ < largest_block)
      buffers_->clear(); // the next ones are larger
    // A reader that comes for a few bytes does not come this far.
    block_bytes_ = std::min(2 * block_bytes_, largest_block);
    blocks_ = std::min(blocks_ + 1, most_blocks);
  }
  return n;
}

void far_stream::begin_some() {
  while (next_ < end_ && ahead_.size() < blocks_) {
    const auto size = std::min(block_bytes_, end_ - next_);
    const bool is_needed = ahead_.empty();
    if (!is_needed && !buffers_->budget().take(size))
      return without_budget_.set(true);
    auto x = std::make_unique<block>();
    x->begin = next_;
    x->size = static_cast<std::size_t>(size);
    if (is_needed)
      buffers_->budget().take_anyway(size);
    auto& made = *ahead_.emplace_back(std::move(x));
    next_ += size;
    begin(made, is_needed);
  }
  without_budget_.set(false);
}

void far_stream::begin(block& x, bool is_needed) {
  {
    const mutex_lock lock{mutex_};
    ++in_flight_;
  }
  auto done = [this, &x](read_result result) {
    const mutex_lock lock{mutex_};
    x.result = std::move(result);
    x.is_here = true;
    --in_flight_;
    came_.notify_all();
  };
  try {
    x.bytes = buffers_->take(x.size);
    const read_part part{object_, x.begin, {x.bytes.get(), x.size}};
    if (is_needed)
      from_.read({&part, 1}, done, stop_.get_token());
    else
      from_.read_ahead({&part, 1}, done, stop_.get_token());
  } catch (...) { // no memory
    done({.bytes = 0,
          .failure = std::make_shared<const error>(
              error_in_flight(errc::io, {.stage = "read", .file = from_.name(object_)}))});
  }
}

void far_stream::wait_for(const block& x) {
  const mutex_lock lock{mutex_};
  if (x.is_here)
    return;
  const byte_wait waiting{counts_};
  while (!x.is_here)
    came_.wait(mutex_);
}

void far_stream::drop_first() {
  buffers_->budget().give_back(ahead_.front()->size);
  ahead_.pop_front();
  if (next_ >= end_)
    buffers_->clear(); // no block is to come
}

std::size_t rising_reads::read(std::uint64_t offset, std::span<std::byte> into) {
  if (stream_ && (offset < stream_->offset() || offset - stream_->offset() > large_gap))
    stream_.reset();
  if (!stream_)
    stream_ = std::make_unique<far_stream>(from_, object_, offset, end_);
  if (!skip_to(*stream_, offset))
    return 0;
  return read_all(*stream_, into);
}

} // namespace leat
