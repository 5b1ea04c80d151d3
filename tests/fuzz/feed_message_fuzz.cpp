#include "runtime/sources/feed/feed_identity.hpp"
#include "runtime/sources/feed/feed_server.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <string_view>

using namespace leat;

namespace {

/// A feed hears what a rank that does not keep to the rules may say.
void serve(const feed_want& x) {
  feed_server feed{{.stream = {"queue", {}}, .has_journal = true, .first = 3, .next = 40}};
  feed.join(1);
  if (!feed.heard(1, x))
    return;
  for (auto some = feed.take_for(1, 10); !some.is_empty(); some = feed.take_for(1, 10)) {
    for (const auto* from : {&some.urgent, &some.others})
      for (const auto number : *from)
        check(number >= 3 && number < 40);
    feed.sent(1, 1, 1000);
  }
  check(feed.covered() <= 40);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (const auto offer = decode_feed_offer(bytes))
    check(decode_feed_offer(encode(*offer)) == *offer);
  if (const auto want = decode_feed_want(bytes)) {
    check(decode_feed_want(encode(*want)) == *want);
    serve(*want);
  }
  if (const auto records = decode_feed_records(bytes)) {
    for (const auto& x : *records)
      touch(x.content);
    check(decode_feed_records(encode(*records)) == *records);
  }
  try {
    const auto own = decode_feed_identity(bytes, "feed");
    check(decode_feed_identity(encode(own), "feed") == own);
  } catch (const error& x) {
    check(x.code() == errc::torn_file || x.code() == errc::mismatch);
  }
  return 0;
}
