// Any text is a pipeline that prints and parses to itself, or is refused as an invalid argument.
#include "tests/fuzz/checks.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <string>

namespace {

bool register_names() {
  leat::register_map("plain@1", [](const std::string& parameters) {
    return leat::map_stage{"plain@1", parameters,
                           [] { return [](leat::sample&, leat::context&) {}; }};
  });
  return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool registered = register_names();
  static_cast<void>(registered);
  std::optional<leat::pipeline> x;
  allow(leat::errc::invalid_argument, [&] {
    x = leat::parse_pipeline({reinterpret_cast<const char*>(data), size});
  });
  if (!x)
    return 0;
  // What was read must be readable: an exception here is the printer's fault.
  const auto again = leat::parse_pipeline(to_string(*x));
  check(again == *x && to_string(again) == to_string(*x));
  return 0;
}
