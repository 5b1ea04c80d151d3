#pragma once

#include "runtime/network/links/byte_layer.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/certificates.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leat {

/// A connection whose other end is known, and has said or heard the right first words.
struct connected_peer {
  /// Does not block.
  file_descriptor socket = {};
  std::unique_ptr<byte_layer> layer = {};
  /// What came after those words, as the socket gave it: the layer reads it first.
  std::string unread = {};
  /// What the peer is, as its hello or its answer says, and its certificate.
  link_role role = link_role::rank;
  std::uint32_t protocol = 0;
  /// Its leat, for texts.
  std::string version = {};
  /// For texts: "10.0.0.5:4242".
  std::string address = {};
  /// Keeps the connection's place among those that a guard admits; null for whoever dialed.
  std::shared_ptr<void> place = {};
};

} // namespace leat
