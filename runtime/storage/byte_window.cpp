#include "runtime/storage/byte_window.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <utility>

namespace leat {

byte_window::byte_window(std::string file, std::unique_ptr<byte_stream> stream,
                         std::size_t block_bytes, std::shared_ptr<shared_bytes_pool> blocks,
                         window_reads how)
    : file_(std::move(file)), stream_(std::move(stream)), block_bytes_(block_bytes), how_(how),
      begin_(stream_->offset()), blocks_(std::move(blocks)),
      held_(blocks_->take()), restarts_{stream_->restart()} {}

std::span<const std::byte> byte_window::from(std::uint64_t offset, std::size_t size) {
  while (end() < offset || end() - offset < size)
    if (!read_block())
      break;
  if (end() < offset)
    torn(offset);
  return held_->all().subspan(dead_ + static_cast<std::size_t>(offset - begin_));
}

std::shared_ptr<const shared_bytes> byte_window::share() {
  if (!std::exchange(is_shared_, true))
    held_->begin = begin_ - dead_;
  return held_;
}

void byte_window::move_to(std::vector<std::byte>& to, std::uint64_t offset, std::uint64_t size) {
  while (size > 0) {
    forget_before(offset);
    const auto held = from(offset);
    if (held.empty())
      torn(offset + size);
    const auto part = held.first(std::min<std::uint64_t>(held.size(), size));
    to.insert(to.end(), part.begin(), part.end());
    offset += part.size();
    size -= part.size();
  }
}

void byte_window::read_into(std::span<std::byte> into, std::uint64_t offset) {
  forget_before(offset);
  for (;;) {
    const auto held = held_->all().subspan(dead_);
    const auto given = std::min(held.size(), into.size());
    std::copy_n(held.begin(), given, into.begin());
    into = into.subspan(given);
    forget_before(begin_ + given);
    if (into.empty())
      return;
    const bool is_straight = how_ == window_reads::straight;
    const auto got = is_straight ? stream_->read(into) : 0;
    if (is_straight ? got == 0 : !read_block())
      torn(begin_ + into.size());
    into = into.subspan(got);
    begin_ += got;
  }
}

void byte_window::forget_before(std::uint64_t offset) {
  while (end() < offset) {
    begin_ = end();
    dead_ = held_->size();
    if (!read_block())
      torn(offset);
  }
  dead_ += static_cast<std::size_t>(offset - std::min(begin_, offset));
  begin_ = std::max(begin_, offset);
}

restart_point byte_window::restart(std::uint64_t offset) {
  while (restarts_.size() > 1 && restarts_[1].unpacked <= offset)
    restarts_.pop_front();
  return restarts_.front();
}

/// Shared memory must not change: the window then moves to a new buffer, with the bytes that are
/// still needed.
void byte_window::make_room() {
  if (is_shared_) {
    const auto live = held_->all().subspan(dead_);
    auto next = blocks_->take();
    std::copy(live.begin(), live.end(), next->room(live.size() + block_bytes_).begin());
    next->add(live.size());
    held_ = std::move(next);
    is_shared_ = false;
    dead_ = 0;
  } else if (dead_ >= held_->size() - dead_) { // amortized, each byte is moved at most once
    held_->remove_front(dead_);
    dead_ = 0;
  }
}

bool byte_window::read_block() {
  make_room();
  const auto got = stream_->read(held_->room(block_bytes_));
  held_->add(got);
  if (restarts_.back() != stream_->restart())
    restarts_.push_back(stream_->restart());
  return got > 0;
}

void byte_window::torn(std::uint64_t needed) const {
  throw error(errc::torn_file,
              {.stage = "read",
               .file = file_,
               .offset = end(),
               .got = "the end of the file",
               .needed = std::to_string(needed - end()) + " more bytes: the file was cut short"});
}

} // namespace leat
