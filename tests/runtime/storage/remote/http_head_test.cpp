#include "runtime/storage/remote/http_head.hpp"
#include "tests/support/catch.hpp"

#include <initializer_list>
#include <string>

namespace leat::http_head_test {
namespace {

using kind = http_verdict::kind;

http_head head_of(int status, std::initializer_list<std::string> lines) {
  http_head x;
  x.add_line("HTTP/1.1 " + std::to_string(status) + " Words");
  for (const auto& line : lines)
    x.add_line(line + "\r\n");
  return x;
}

const object_pin pinned{.size = 1000, .is = object_pin::kind::etag, .validator = "\"v1\""};

TEST_CASE("http head: a part is taken only if it is exactly what was asked for") {
  const byte_range asked{100, 200};
  const auto verdict = [&](int status, std::initializer_list<std::string> lines) {
    return judge(head_of(status, lines), asked, pinned).is;
  };
  CHECK(verdict(206, {"Content-Range: bytes 100-199/1000"}) == kind::good);
  CHECK(verdict(206, {"content-range:bytes 100-199/1000 ", "CONTENT-LENGTH: 100", "ETag: \"v1\""})
        == kind::good);
  CHECK(verdict(206, {"Content-Range: bytes 100-198/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 99-198/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 101-200/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-200/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-199/*"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-199/150"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 199-100/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: octets 100-199/1000"}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-18446744073709551615/1000"}) == kind::wrong);
  CHECK(verdict(206, {}) == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-199/1000", "Content-Length: 99"}) == kind::wrong);
  CHECK(verdict(206,
                {"Content-Range: bytes 100-199/1000", "Content-Length: 100", "Content-Length: 101"})
        == kind::wrong);
  CHECK(verdict(206, {"Content-Range: bytes 100-199/1000", "Content-Encoding: gzip"})
        == kind::refused);
  CHECK(verdict(200, {"Content-Length: 1000"}) == kind::wrong);
  CHECK(verdict(200, {"Content-Length: 100"}) == kind::changed);
}

TEST_CASE("http head: another version is found by its size and by its validator") {
  const byte_range asked{0, 10};
  const auto range = "Content-Range: bytes 0-9/1000";
  CHECK(judge(head_of(206, {range, "ETag: \"v2\""}), asked, pinned).is == kind::changed);
  CHECK(judge(head_of(206, {"Content-Range: bytes 0-9/999"}), asked, pinned).is == kind::changed);
  CHECK(judge(head_of(412, {}), asked, pinned).is == kind::changed);
  CHECK(judge(head_of(416, {"Content-Range: bytes */5"}), asked, pinned).is == kind::changed);
  // A weak one says nothing about bytes.
  CHECK(judge(head_of(206, {range, "ETag: W/\"v2\""}), asked, pinned).is == kind::good);
  const object_pin by_time{1000, object_pin::kind::last_modified, "Sun, 06 Nov 1994 08:49:37 GMT"};
  CHECK(judge(head_of(206, {range, "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"}), asked, by_time)
            .is
        == kind::changed);
  // Not every response says the same: what the first one said is compared as far as it can be.
  const auto* const later = "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT";
  CHECK(judge(head_of(206, {range, later, "ETag: \"v1\""}), asked, by_time).is == kind::changed);
  CHECK(judge(head_of(206, {range, "ETag: \"v1\""}), asked, by_time).is == kind::good);
  auto with_time = pinned;
  with_time.written = by_time.validator;
  CHECK(judge(head_of(206, {range, later}), asked, with_time).is == kind::changed);
  CHECK(judge(head_of(206, {range, later, "ETag: \"v1\""}), asked, with_time).is == kind::good);
  const auto named = judge(head_of(206, {range, later}), asked, with_time);
  CHECK(named.got.find("08:49:38") != std::string::npos);
  CHECK(named.needed.find("08:49:37") != std::string::npos);
  const auto x = judge(head_of(206, {range, "ETag: \"v2\""}), asked, pinned);
  CHECK(x.got.find("\"v2\"") != std::string::npos);
  CHECK(x.needed.find("\"v1\"") != std::string::npos);
}

TEST_CASE("http head: without a pin the object may end inside what was asked for") {
  const byte_range asked{10, 100};
  auto x = judge(head_of(206, {"Content-Range: bytes 10-19/20", "ETag: \"a\""}), asked, {});
  CHECK(x.is == kind::good);
  CHECK(x.range == byte_range{10, 20});
  CHECK(x.pin == object_pin{20, object_pin::kind::etag, "\"a\""});
  CHECK(judge(head_of(206, {"Content-Range: bytes 10-18/20"}), asked, {}).is == kind::wrong);
  CHECK(judge(head_of(416, {"Content-Range: bytes */7"}), asked, {}).is == kind::beyond);
  x = judge(head_of(200, {"Content-Length: 50"}), {0, 100}, {});
  CHECK(x.is == kind::good);
  CHECK(x.range == byte_range{0, 50});
  CHECK(judge(head_of(200, {"Content-Length: 0"}), {0, 1}, {}).is == kind::beyond);
  CHECK(judge(head_of(200, {}), {0, 100}, {}).is == kind::wrong);
}

TEST_CASE("http head: failures are told apart by what helps") {
  const auto verdict = [](int status) { return judge(head_of(status, {}), {0, 9}, pinned).is; };
  for (const int status : {408, 429, 500, 502, 503, 504})
    CHECK(verdict(status) == kind::busy);
  for (const int status : {400, 401, 403, 405, 501, 302, 999})
    CHECK(verdict(status) == kind::refused);
  CHECK(verdict(404) == kind::not_found);
  CHECK(verdict(410) == kind::not_found);
  CHECK(judge(head_of(302, {"Location: http://x/y"}), {0, 9}, {}).is == kind::elsewhere);
}

TEST_CASE("http head: a pause that a server asks for is a number or a date, and has a limit") {
  CHECK(wait_asked_for(head_of(503, {"Retry-After: 7"})) == 7.0);
  CHECK(wait_asked_for(head_of(503, {"Retry-After: 99999"})) == 300.0);
  CHECK_FALSE(wait_asked_for(head_of(503, {"Retry-After: soon"})));
  CHECK_FALSE(wait_asked_for(head_of(503, {"Retry-After: -1"})));
  CHECK(wait_asked_for(head_of(503, {"Retry-After: Sun, 06 Nov 1994 08:50:07 GMT",
                                     "Date: Sun, 06 Nov 1994 08:49:37 GMT"}))
        == 30.0);
  CHECK(wait_asked_for(head_of(503, {"Retry-After: Sun, 06 Nov 1994 08:49:07 GMT",
                                     "Date: Sun, 06 Nov 1994 08:49:37 GMT"}))
        == 0.0);
  CHECK_FALSE(wait_asked_for(head_of(
      503, {"Retry-After: Sun, 32 Nov 1994 08:49:07 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT"})));
}

TEST_CASE("http head: a status line begins anew") {
  auto x = head_of(100, {"ETag: \"a\"", "Content-Length: 5"});
  x.add_line("HTTP/1.1 206 Partial Content");
  CHECK(x.status == 206);
  CHECK(x.etag.empty());
  CHECK_FALSE(x.content_length);
}

} // namespace
} // namespace leat::http_head_test
