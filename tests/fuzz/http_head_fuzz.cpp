#include "runtime/storage/remote/http_head.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

using namespace leat;

namespace {

/// Whatever a server says, bytes are taken only if they are a part of what was asked for.
void judge_head(std::string_view text, const std::optional<object_pin>& pin) {
  http_head head;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    head.add_line(text.substr(0, end));
    text.remove_prefix(end);
  }
  (void)wait_asked_for(head);
  for (const byte_range asked : {byte_range{0, 1}, byte_range{0, 1000}, byte_range{100, 200}}) {
    const auto x = judge(head, asked, pin);
    if (x.is != http_verdict::kind::good)
      continue;
    check(x.range.begin == asked.begin && x.range.end <= asked.end && x.range.size() > 0);
    check(x.pin.size >= x.range.end && (!pin || x.pin.size == pin->size));
    check(x.range.end == asked.end || x.range.end == x.pin.size);
    check(!head.content_length || *head.content_length == x.range.size());
  }
}

/// A name either is refused or has one form, whose request gives it again.
void read_name(const std::string& text) {
  (void)without_secrets(text);
  try {
    const web_address x{text, "fuzz"};
    check(web_address{x.url(), "fuzz"}.name() == x.name());
    check(web_address{x.name(), "fuzz", web_address::spelling::full}.url() == x.url());
  } catch (const error& x) {
    check(x.code() == errc::invalid_argument);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  judge_head(text, {});
  judge_head("HTTP/1.1 206 Part\n" + text, object_pin{1000, object_pin::kind::etag, "\"a\""});
  read_name(text);
  read_name("http://h/" + text);
  return 0;
}
