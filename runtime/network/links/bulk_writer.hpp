#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/byte_layer.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace leat {

/// A frame in the bytes that are sent.
struct bulk_parcel {
  /// What precedes its payload.
  std::string front = {};
  std::vector<std::span<const char>> payload = {};
  std::shared_ptr<const void> owner = {};
  /// Of all that.
  std::size_t bytes = front.size();
  /// Of the peer's credit.
  std::int64_t cost = 0;
};

/// Takes the payload. Throws `errc::invalid_argument` if the frame is too large.
bulk_parcel parcel_of(bulk_frame& x);

/// Sends frames in their order: without TLS from where they are, many in one call; with it in
/// records that are full as long as anything waits.
class bulk_writer : not_copied {
public:
  /// `through` outlives this.
  explicit bulk_writer(byte_layer& through) : through_(through) {}

  void add(bulk_parcel x) { waiting_.push_back(std::move(x)); }
  /// A credit goes before whatever is not begun.
  void add_credit(std::int64_t bytes);
  /// Bytes of TLS that are to be sent next: its own words are added here.
  byte_buffer& sealed() noexcept { return sealed_; }
  bool is_empty() const noexcept { return waiting_.empty() && sealed_.empty(); }

  /// Sends what the socket takes now, without waiting, and returns the cost of the frames that are
  /// done with. Throws `errc::cluster` where the connection has ended.
  std::int64_t send(const file_descriptor& socket);

private:
  void send_plain(const file_descriptor& socket);
  void send_sealed(const file_descriptor& socket);
  void pass(std::size_t bytes);
  void seal_some();
  void seal(std::string_view bytes);
  void seal_record();
  bool send_rest(const file_descriptor& socket);

  byte_layer& through_;
  std::deque<bulk_parcel> waiting_;
  /// Of the first one, in bytes: its front and parts one after the other.
  std::size_t sent_ = 0;
  std::int64_t done_ = 0;
  // With TLS.
  std::vector<char> record_;
  byte_buffer sealed_;
  std::size_t sealed_sent_ = 0;
};

} // namespace leat
