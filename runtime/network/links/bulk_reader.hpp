#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/links/bulk_frame.hpp"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Who gets the frames of a bulk connection. Nothing here may wait.
class bulk_receiver {
public:
  virtual ~bulk_receiver() = default;

  /// Where this frame's payload, which is not empty, is to go. Nothing: it is thrown away, and the
  /// frame is not heard of again.
  virtual std::optional<bulk_room> room_for(const bulk_head& x) = 0;
  /// A whole frame has come, with its payload where `room_for` said.
  virtual void receive(const bulk_head& x, bulk_room room) = 0;
};

/// Takes the frames of a bulk connection apart. A payload is received where it is to be; only what
/// comes together with other frames is copied. All that a peer may not send is refused at the
/// frame's header.
class bulk_reader : not_copied {
public:
  explicit bulk_reader(const frame_rules& rules);

  /// The peer may send so many bytes more.
  void grant(std::int64_t bytes) noexcept { allowed_ += bytes; }
  /// Of what was granted, what the peer has not used.
  std::int64_t allowed() const noexcept { return allowed_; }
  /// Credit that the peer has granted since the last call.
  std::int64_t take_credit() noexcept;

  /// Where the next bytes go: the first place has room for at least one byte, and is filled first.
  std::array<iovec, 2> room() noexcept;
  /// So many bytes have been written there. Throws `errc::cluster` for what may not come, and what
  /// the receiver throws; nothing may be read after that.
  void filled(std::size_t bytes, bulk_receiver& to);

private:
  enum class stage : std::uint8_t { head, words, payload };

  /// Bytes that came and are not taken apart yet.
  std::size_t held() const noexcept { return end_ - begin_; }
  void read_held(bulk_receiver& to);
  bool read_head();
  bool read_words(bulk_receiver& to);
  bool read_payload(bulk_receiver& to);
  void make_room(bulk_receiver& to);
  std::span<char> rest_of_part() noexcept;
  void fill_payload(std::size_t bytes) noexcept;
  void add_credit(std::uint64_t bytes);
  bulk_head head() const noexcept;

  const frame_rules rules_;
  std::int64_t allowed_ = 0;
  std::int64_t credit_ = 0;
  /// What comes before and between payloads, and small ones.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  // The frame that is coming.
  stage stage_ = stage::head;
  frame_header header_;
  std::string words_;
  std::size_t payload_ = 0;
  /// Of the payload.
  std::size_t left_ = 0;
  std::optional<bulk_room> room_;
  std::size_t part_ = 0;
  std::size_t offset_ = 0;
  /// Of what comes next, how much goes to its payload.
  std::size_t direct_ = 0;
};

} // namespace leat
