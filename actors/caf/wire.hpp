#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/cluster/message_codec.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>

#include <concepts>
#include <cstddef>
#include <string>

namespace leat {

/// What travels between the processes of a cluster.
template <class T>
concept cluster_message =
    std::same_as<T, cluster_hello> || std::same_as<T, cluster_beat> || std::same_as<
        T, cluster_word> || std::same_as<T, cluster_part> || std::same_as<T, cluster_status>;

/// CAF's hook for what a message is on the wire: one string.
template <cluster_message T>
caf::error inspect(caf::serializer& to, T& x) {
  auto bytes = encode(x);
  return to(bytes);
}

/// CAF drops a message that does not fit.
template <cluster_message T>
caf::error inspect(caf::deserializer& from, T& x) {
  std::size_t size = 0;
  if (auto problem = from.begin_sequence(size))
    return problem;
  const auto* binary = dynamic_cast<caf::binary_deserializer*>(&from);
  if (size > most_message_bytes || (binary && size > binary->remaining()))
    return caf::sec::end_of_stream; // before memory is taken for it
  std::string bytes(size, '\0');
  if (size > 0)
    if (auto problem = from.apply_raw(size, bytes.data()))
      return problem;
  auto message = decode_message<T>(bytes);
  if (!message)
    return caf::sec::invalid_argument;
  x = std::move(*message);
  return from.end_sequence();
}

/// For texts that CAF itself makes, such as its logs.
template <cluster_message T>
std::string to_string(const T&) {
  return "a message of the cluster";
}

} // namespace leat
