#pragma once

#include "messages/cluster/beat.hpp"
#include "messages/cluster/hello.hpp"
#include "messages/cluster/part.hpp"
#include "messages/cluster/status.hpp"
#include "messages/cluster/word.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// The largest message: no peer can make another use more memory.
inline constexpr std::size_t most_message_bytes = std::size_t{4} << 20;

// The bytes are what any process of this protocol reads. They come from other machines: whatever
// does not fit is refused.
std::string encode(const cluster_hello& x);
std::string encode(const cluster_beat& x);
std::string encode(const cluster_word& x);
std::string encode(const cluster_part& x);
std::string encode(const cluster_status& x);

/// Reads a message; nothing if the bytes are not one, or too many.
template <class Message>
std::optional<Message> decode_message(std::string_view bytes);
template <>
std::optional<cluster_hello> decode_message(std::string_view bytes);
template <>
std::optional<cluster_beat> decode_message(std::string_view bytes);
template <>
std::optional<cluster_word> decode_message(std::string_view bytes);
template <>
std::optional<cluster_part> decode_message(std::string_view bytes);
template <>
std::optional<cluster_status> decode_message(std::string_view bytes);

} // namespace leat
