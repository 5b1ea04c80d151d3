#include "runtime/network/links/bulk_reader.hpp"

#include "runtime/network/links/link_error.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t reader_bytes = 64 << 10;
/// Of a payload, so much and more is received in place.
constexpr std::size_t large_payload = 16 << 10;
/// What is received after the rest of a large payload: the next frame's front, and little of its
/// payload, since that would have to be copied.
constexpr std::size_t bytes_after_large = 2 << 10;

} // namespace

bulk_reader::bulk_reader(const frame_rules& rules) : rules_(rules), buffer_(reader_bytes) {}

std::int64_t bulk_reader::take_credit() noexcept {
  return std::exchange(credit_, 0);
}

bulk_head bulk_reader::head() const noexcept {
  return {static_cast<frame_kind>(header_.kind), header_.number, words_, payload_};
}

std::array<iovec, 2> bulk_reader::room() noexcept {
  direct_ = 0;
  auto size = buffer_.size();
  if (payload_ >= large_payload && (stage_ != stage::payload || room_))
    size = bytes_after_large + (stage_ == stage::payload && left_ < large_payload ? left_ : 0);
  const iovec between{buffer_.data() + end_, std::min(size, buffer_.size() - end_)};
  if (stage_ != stage::payload || !room_ || left_ < large_payload)
    return {between, iovec{}};
  const auto part = rest_of_part();
  direct_ = part.size();
  // What comes after this part belongs to the next one.
  return {iovec{part.data(), part.size()}, part.size() == left_ ? between : iovec{}};
}

void bulk_reader::filled(std::size_t bytes, bulk_receiver& to) {
  const auto direct = std::min(bytes, std::exchange(direct_, 0));
  fill_payload(direct);
  end_ += bytes - direct;
  read_held(to);
}

void bulk_reader::read_held(bulk_receiver& to) {
  for (bool has_more = true; has_more;)
    switch (stage_) {
    case stage::head:
      has_more = read_head();
      break;
    case stage::words:
      has_more = read_words(to);
      break;
    case stage::payload:
      has_more = read_payload(to);
      break;
    }
  std::memmove(buffer_.data(), buffer_.data() + begin_, held()); // less than a frame's front
  end_ -= begin_;
  begin_ = 0;
}

bool bulk_reader::read_head() {
  if (held() < header_bytes)
    return false;
  header_ = header_at(buffer_.data() + begin_);
  begin_ += header_bytes;
  const auto text = [this] {
    return "a frame of kind " + std::to_string(header_.kind) + " and "
           + std::to_string(header_.length) + " bytes";
  };
  if (!rules_.allows(header_))
    break_link(text(), "one that this peer may send here");
  if (header_.kind == static_cast<std::uint32_t>(frame_kind::credit)) {
    add_credit(header_.number);
    return true;
  }
  if (allowed_ <= 0)
    break_link(text() + " without credit", "a peer that keeps to its credit");
  allowed_ -= cost_of(header_.length);
  stage_ = stage::words;
  return true;
}

void bulk_reader::add_credit(std::uint64_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::uint64_t>(most_credit - credit_))
    break_link("a credit of " + std::to_string(bytes) + " bytes",
               "1 to " + std::to_string(most_credit));
  credit_ += static_cast<std::int64_t>(bytes);
}

bool bulk_reader::read_words(bulk_receiver& to) {
  std::uint32_t size = 0;
  if (header_.length < sizeof size)
    break_link("a frame of " + std::to_string(header_.length) + " bytes", "at least 4");
  if (held() < sizeof size)
    return false;
  std::memcpy(&size, buffer_.data() + begin_, sizeof size);
  payload_ = header_.length - sizeof size;
  if (size > most_bulk_words || size > payload_ || payload_ - size > most_bulk_payload)
    break_link("a frame of " + std::to_string(header_.length) + " bytes, of which "
                   + std::to_string(size) + " describe the others",
               "a frame of leat");
  payload_ -= size;
  if (held() - sizeof size < size)
    return false;
  words_.assign(buffer_.data() + begin_ + sizeof size, size);
  begin_ += sizeof size + size;
  make_room(to);
  return true;
}

void bulk_reader::make_room(bulk_receiver& to) {
  stage_ = stage::payload;
  left_ = payload_;
  part_ = 0;
  offset_ = 0;
  room_ = payload_ == 0 ? bulk_room{} : to.room_for(head());
  if (!room_)
    return;
  std::size_t size = 0;
  for (const auto& x : room_->parts)
    size += x.size();
  if (size != payload_)
    throw std::logic_error("room of another size than a payload's");
}

std::span<char> bulk_reader::rest_of_part() noexcept {
  if (left_ == 0)
    return {};
  while (offset_ == room_->parts[part_].size()) {
    ++part_;
    offset_ = 0;
  }
  return room_->parts[part_].subspan(offset_);
}

void bulk_reader::fill_payload(std::size_t bytes) noexcept {
  offset_ += bytes;
  left_ -= bytes;
}

bool bulk_reader::read_payload(bulk_receiver& to) {
  while (left_ > 0 && held() > 0) {
    auto size = std::min(held(), left_);
    if (room_) {
      const auto part = rest_of_part();
      size = std::min(size, part.size());
      std::memcpy(part.data(), buffer_.data() + begin_, size);
    }
    fill_payload(size);
    begin_ += size;
  }
  if (left_ > 0)
    return false;
  stage_ = stage::head;
  if (auto room = std::exchange(room_, std::nullopt))
    to.receive(head(), std::move(*room));
  return true;
}

} // namespace leat
