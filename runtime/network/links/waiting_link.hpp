#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/links/byte_layer.hpp"
#include "runtime/network/links/frame_reader.hpp"
#include "runtime/network/links/wake_event.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A connection for a thread that may wait, plain or with TLS. All calls that wait throw
/// `errc::cluster` at their deadline, and where the connection cannot go on, and
/// `errc::interrupted` once `stop` is set.
class waiting_link : not_copied {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Takes over a connected socket that does not block, and what has come from it already. `stop`
  /// may be null.
  waiting_link(file_descriptor socket, std::unique_ptr<byte_layer> layer, std::string_view unread,
               const wake_event* stop);

  void shake_hands(time_point deadline);
  void send(frame_kind kind, std::uint64_t number, std::string_view body, time_point deadline);
  frame receive(const frame_rules& rules, time_point deadline);

  const byte_layer& layer() const noexcept { return *layer_; }
  /// What has come and is not read yet.
  std::string_view unread() const noexcept { return came_; }
  /// Gives away what it took over.
  std::pair<file_descriptor, std::unique_ptr<byte_layer>> release() && noexcept {
    return {std::move(socket_), std::move(layer_)};
  }

private:
  /// Sends all of `out_`.
  void flush(time_point deadline);
  /// Waits until some bytes have come.
  void fill(time_point deadline);
  void wait(short events, time_point deadline) const;
  /// Lets the peer know why, as far as the socket takes it now.
  void try_flush() noexcept;

  file_descriptor socket_;
  std::unique_ptr<byte_layer> layer_;
  const wake_event* stop_;
  std::vector<char> buffer_;
  std::string_view came_;
  byte_buffer out_;
};

} // namespace leat
