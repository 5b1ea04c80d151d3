// Any text is a pipeline that prints and parses to itself, or is refused as an invalid argument.
#include <leat/error.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <cstdlib>
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
  try {
    const auto x = leat::parse_pipeline({reinterpret_cast<const char*>(data), size});
    const auto text = to_string(x);
    // What was read must be readable: an error here is the printer's.
    try {
      const auto again = leat::parse_pipeline(text);
      if (!(again == x) || to_string(again) != text)
        std::abort();
    } catch (const leat::error&) {
      std::abort();
    }
  } catch (const leat::error& x) {
    if (x.code() != leat::errc::invalid_argument)
      std::abort();
  }
  return 0;
}
