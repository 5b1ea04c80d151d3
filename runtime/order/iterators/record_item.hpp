#pragma once

#include "runtime/sample/item.hpp"
#include "runtime/sample/stream_source.hpp"

namespace leat {

/// Writes what an item says of a record within its unit: number, offset, length and key.
inline void add_record(const stream_record& x, item& to) {
  to.add(x.number);
  to.add(x.offset);
  to.add(x.length);
  to.add(x.key);
}

/// Reads what `add_record` wrote.
inline stream_record read_record(item_reader& from) {
  stream_record x;
  x.number = from.number();
  x.offset = from.number();
  x.length = from.number();
  x.key = from.text();
  return x;
}

} // namespace leat
