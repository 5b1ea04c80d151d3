#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

/// A line that a server of lines sends: "PLACE CONTENT\n", or "end\n" after the last one. Bytes lie
/// where they were read from. docs/queues.md has the protocol.
struct tcp_line {
  enum class kind : std::uint8_t {
    record,
    end,
    /// More has to come.
    part,
    wrong,
  };
  kind is = kind::part;
  std::string_view place = {};
  std::string_view content = {};
  /// Bytes of the line with its end.
  std::size_t size = 0;
};

/// The first line of what has come; `known`: so many bytes at its beginning have no line's end.
tcp_line read_tcp_line(std::string_view bytes, std::size_t known = 0);

} // namespace leat
