#pragma once

#include "runtime/base/secret.hpp"

#include <leat/certificates.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// The protocols that this version speaks on a link. One protocol is everything that is said after
/// the welcome.
inline constexpr std::uint32_t least_link_protocol = 1;
inline constexpr std::uint32_t newest_link_protocol = 1;

/// Of this leat.
std::string own_version();

/// What a process says first when it has dialed another. What its role has to say follows after the
/// welcome, in a frame of its own.
struct link_hello {
  std::uint32_t least_protocol = least_link_protocol;
  std::uint32_t protocol = newest_link_protocol;
  /// Of leat, for texts: at most 64 bytes, printable.
  std::string version = own_version();
  /// As what it comes; nothing if a newer version has said a role that this one does not know.
  std::optional<link_role> role = {};
  /// Of the job.
  secret token = {};
};

struct link_welcome {
  std::uint32_t protocol = newest_link_protocol;
  std::string version = {};
  /// As what it answers; nothing for a role that this version does not know.
  std::optional<link_role> role = link_role::coordinator;
};

enum class refusal_reason : std::uint8_t { too_old = 1, too_new = 2, wrong_role = 3, full = 4 };

/// Why a process that knows the job's token is not admitted. Whoever does not know it hears
/// nothing.
struct link_refusal {
  refusal_reason reason = refusal_reason::full;
  /// For whoever started the process that dialed.
  std::string text = {};
};

std::string encode(const link_hello& x);
std::string encode(const link_welcome& x);
std::string encode(const link_refusal& x);

/// Reads one of them; nothing if the bytes are not one.
std::optional<link_hello> decode_link_hello(std::string_view bytes);
std::optional<link_welcome> decode_link_welcome(std::string_view bytes);
std::optional<link_refusal> decode_link_refusal(std::string_view bytes);

/// Whether a process that speaks up to `protocol` and says this is too old or too new for a peer
/// that speaks these protocols in this version; nothing if they have one in common.
std::optional<link_refusal> fault_of_protocol(const link_hello& x, std::uint32_t least,
                                              std::uint32_t newest, const std::string& version);

} // namespace leat
