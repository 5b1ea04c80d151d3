#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/links/frame.hpp"

#include <openssl/x509.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace leat {

/// The most that TLS puts into one record.
inline constexpr std::size_t tls_record_bytes = 16 << 10;

/// What lies between frames and a socket: nothing, or TLS. It has no socket: whoever has it passes
/// on what came (`came`, from which the used bytes are cut off), and sends what is added to `out`.
/// All calls throw `errc::cluster` where the connection cannot go on; what `out` has then is still
/// to be sent, so that the peer knows why.
class byte_layer : not_copied {
public:
  virtual ~byte_layer() = default;

  /// Continues what has to come before the first byte, and returns whether it is over. The side
  /// that dials begins: call it with nothing that came.
  virtual bool shake_hands(std::string_view& came, byte_buffer& out) = 0;
  /// Puts what the peer said into `into`; returns the number of bytes. 0: more must come.
  virtual std::size_t read(std::string_view& came, std::span<char> into, byte_buffer& out) = 0;
  virtual void write(std::string_view bytes, byte_buffer& out) = 0;
  /// The certificate that the peer has proven to be its own; null where none is asked for.
  virtual const X509* peer() const noexcept = 0;
  /// Whether bytes may be sent and received as they are, without this.
  virtual bool is_plain() const noexcept { return false; }
};

/// Bytes as they are.
class plain_layer final : public byte_layer {
public:
  bool shake_hands(std::string_view&, byte_buffer&) override { return true; }
  std::size_t read(std::string_view& came, std::span<char> into, byte_buffer&) override {
    const auto size = came.copy(into.data(), into.size());
    came.remove_prefix(size);
    return size;
  }
  void write(std::string_view bytes, byte_buffer& out) override {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  const X509* peer() const noexcept override { return nullptr; }
  bool is_plain() const noexcept override { return true; }
};

/// Adds a frame to what is to be sent. The header and the beginning of the bytes share a record of
/// TLS.
void write_frame(byte_layer& through, frame_kind kind, std::uint64_t number, std::string_view body,
                 byte_buffer& out);

} // namespace leat
