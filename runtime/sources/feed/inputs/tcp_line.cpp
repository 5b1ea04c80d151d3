#include "runtime/sources/feed/inputs/tcp_line.hpp"

#include "runtime/sources/feed/feed_input.hpp"

#include <algorithm>

namespace leat {

tcp_line read_tcp_line(std::string_view bytes, std::size_t known) {
  const auto end = bytes.find('\n', std::min(known, bytes.size()));
  if (end == bytes.npos)
    return {.is = bytes.size() > most_place_bytes + 1 + most_record_bytes ? tcp_line::kind::wrong
                                                                          : tcp_line::kind::part};
  const auto line = bytes.substr(0, end);
  if (line == "end")
    return {.is = tcp_line::kind::end, .size = end + 1};
  const auto space = line.find(' ');
  if (space == line.npos || space == 0 || space > most_place_bytes
      || line.size() - space - 1 > most_record_bytes)
    return {.is = tcp_line::kind::wrong, .size = end + 1};
  return {.is = tcp_line::kind::record,
          .place = line.substr(0, space),
          .content = line.substr(space + 1),
          .size = end + 1};
}

} // namespace leat
