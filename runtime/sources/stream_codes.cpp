#include "runtime/sources/stream_codes.hpp"

#include "runtime/sample/item.hpp"

#include <utility>

namespace leat {

namespace {

void add(item& to, restart_point x) {
  to.add(x.packed);
  to.add(x.unpacked);
}

restart_point take_restart(item_reader& from) {
  restart_point x;
  x.packed = from.number();
  x.unpacked = from.number();
  return x;
}

void add(item& to, const tar_context& x) {
  if (x == tar_context{})
    return;
  add(to, x.restart);
  if (x.global == tar_attributes{})
    return;
  to.add(std::uint64_t{x.global.path.has_value()});
  to.add(x.global.path.value_or(""));
  to.add(std::uint64_t{x.global.size.has_value()});
  to.add(x.global.size.value_or(0));
}

tar_context take_context(item_reader& from) {
  tar_context x;
  if (from.at_end())
    return x;
  x.restart = take_restart(from);
  if (from.at_end())
    return x;
  const bool has_path = from.number(1) != 0;
  std::string path{from.text()};
  const bool has_size = from.number(1) != 0;
  const auto size = from.number();
  if (has_path)
    x.global.path = std::move(path);
  if (has_size)
    x.global.size = size;
  return x;
}

} // namespace

std::string to_code(restart_point x) {
  item code;
  if (x != restart_point{})
    add(code, x);
  return code.bytes();
}

restart_point restart_from(std::string_view code) {
  item_reader reader{code};
  return code.empty() ? restart_point{} : take_restart(reader);
}

std::string to_code(const tar_context& x) {
  item code;
  add(code, x);
  return code.bytes();
}

tar_context tar_context_from(std::string_view code) {
  item_reader reader{code};
  return take_context(reader);
}

std::string to_code(const tar_record_key& x) {
  item code;
  code.add(std::string_view{x.key});
  add(code, x.context);
  return code.bytes();
}

tar_record_key tar_record_key_from(std::string_view code) {
  item_reader reader{code};
  tar_record_key x;
  x.key = reader.text();
  x.context = take_context(reader);
  return x;
}

} // namespace leat
