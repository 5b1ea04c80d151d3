#include "runtime/children/call_codec.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <string>
#include <string_view>

using namespace leat;

namespace {

/// A call that was read can be answered, and its answer read again.
void read_call(std::string_view bytes) {
  received_call received;
  try {
    value_reader from{bytes};
    received.read(from);
  } catch (const torn_value&) {
    return;
  }
  touch(bytes_of(*received.call().on));
  const auto answer = bytes_written_by([&](value_writer& to) { received.write_reply(to, {}); });
  sample into;
  value_reader from{answer};
  try {
    function_call call{&into};
    check(!read_reply(from, call));
  } catch (const torn_value&) { // the answer leaves out what the caller has
  }
}

void read_answer(std::string_view bytes) {
  sample x;
  x.set("number", 1);
  x.set("bytes", std::string_view{"some"});
  function_call call{&x};
  value_reader from{bytes};
  try {
    if (!read_reply(from, call))
      touch(bytes_of(x));
  } catch (const torn_value&) {
    touch(bytes_of(x));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  read_call(bytes);
  read_answer(bytes);
  return 0;
}
