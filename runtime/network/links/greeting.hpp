#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/network/certs/certificates.hpp"
#include "runtime/network/links/byte_layer.hpp"
#include "runtime/network/links/frame_reader.hpp"
#include "runtime/network/links/link_hello.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Whom a process admits, and as what.
struct admission {
  link_role as = link_role::coordinator;
  link_roles roles = {};
  /// The job's; empty: none is asked for.
  secret token = {};
  /// What this process says of itself.
  std::string version = own_version();
  std::uint32_t least_protocol = least_link_protocol;
  std::uint32_t newest_protocol = newest_link_protocol;
};

/// How a process that was dialed finds out who dialed it: handshake, certificate, hello. It has no
/// socket, and takes at most some 50 KiB from a stranger.
class greeting : not_copied {
public:
  enum class state : std::uint8_t { open, admitted, refused };

  /// `rules` outlives this; `own` is null without TLS.
  greeting(const admission& rules, std::shared_ptr<const certificates> own);

  /// Takes what came, and adds to `out` what is to be sent, in any state. Call it no more unless
  /// that is `open`. Throws `std::bad_alloc` and `errc::io` without memory.
  state receive(std::string_view came, byte_buffer& out);

  /// Of a peer that is admitted.
  link_hello& hello() noexcept { return hello_; }
  std::unique_ptr<byte_layer> release_layer() noexcept { return std::move(layer_); }
  std::uint32_t protocol() const noexcept { return protocol_; }
  /// Why a peer is refused.
  const std::string& why() const noexcept { return why_; }
  /// What a peer that is admitted hears: one of these two.
  void welcome(byte_buffer& out);
  void refuse(const link_refusal& x, byte_buffer& out);

private:
  state advance(std::string_view came, byte_buffer& out);
  state hear(const frame& x, byte_buffer& out);
  std::optional<link_refusal> fault_of(const link_hello& x) const;

  const admission& rules_;
  std::shared_ptr<const certificates> own_;
  std::unique_ptr<byte_layer> layer_;
  frame_reader reader_{hello_rules()};
  link_hello hello_;
  std::uint32_t protocol_ = 0;
  std::size_t shaken_ = 0;
  bool is_secured_ = false;
  std::string why_;
};

} // namespace leat
