#pragma once

#include "runtime/network/ip_address.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <sys/socket.h>

#include <cstdint>
#include <optional>

namespace leat {

/// An address as the system's calls take it.
struct socket_address {
  sockaddr_storage bytes = {};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* raw() noexcept { return reinterpret_cast<sockaddr*>(&bytes); } // NOLINT: as they ask
  /// Host byte order.
  std::uint16_t port() const noexcept;
};

socket_address socket_address_of(const ip_address& ip, std::uint16_t port) noexcept;

/// Nothing for null and for addresses of another kind.
std::optional<ip_address> ip_of(const sockaddr* x) noexcept;

/// Prepares a connected TCP socket: small messages are sent at once, and a peer that is gone is
/// noticed within a minute, also where it has left unsent bytes behind.
void prepare_connection(const file_descriptor& socket) noexcept;

/// What is wrong with a connection that was begun; 0 if nothing, otherwise an errno.
int problem_of_socket(const file_descriptor& socket) noexcept;

} // namespace leat
