// Objects that are put to a service which checks signatures, and to one that misbehaves.

#include "runtime/base/sha256.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/remote/aws/aws_signature.hpp"
#include "runtime/storage/remote/aws/s3_store.hpp"
#include "runtime/storage/remote/object_writer.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <atomic>
#include <random>

namespace leat::object_writer_test {
namespace {

using namespace leat::test;

const aws_credentials owner{"AK", secret{"s/e+cret"}, secret{}};

std::span<const std::byte> bytes_of(const std::string& x) {
  return std::as_bytes(std::span{x});
}

/// A service over a folder with the bucket "b", and a store that asks it.
struct bucket {
  explicit bucket(fault_server::choice choose = {}, s3_service how = {})
      : server{dir.path(), std::move(choose)} {
    std::filesystem::create_directory(dir / "b");
    how.folder = dir.path();
    how.owner = owner;
    server.service = how;
  }

  std::string content(const std::string& key) const { return content_of(dir / ("b/" + key)); }
  aws_settings settings() const {
    return {.region = "us-east-1",
            .endpoint = server.address(),
            .credentials = by,
            .source = "the test"};
  }

  temporary_directory dir;
  fault_server server;
  aws_credentials by = owner;
  transfer_pool pool{impatient()};
  s3_store store{[this] { return settings(); }, &pool};
};

http_head head_of(int status, const std::string& lines = {}) {
  http_head x;
  x.add_line("HTTP/1.1 " + std::to_string(status) + " X");
  if (!lines.empty())
    x.add_line(lines);
  return x;
}

TEST_CASE("object_writer: only a response with the new version says that an object is stored") {
  using kind = put_verdict::kind;
  const auto is = [](int status, const std::string& line = {}, std::string_view code = {}) {
    return judge_put(head_of(status, line), code).is;
  };
  CHECK(is(200, "ETag: \"x\"") == kind::stored);
  CHECK(is(201, "ETag: \"x\"") == kind::stored);
  CHECK(is(200, "x-goog-generation: 7") == kind::stored);
  CHECK(is(200) == kind::wrong);
  CHECK(is(204, "ETag: \"x\"") == kind::refused);
  CHECK(is(206, "ETag: \"x\"") == kind::refused);
  for (const int status : {408, 429, 500, 502, 503, 504})
    CHECK(is(status) == kind::busy);
  CHECK(is(409, {}, "OperationAborted") == kind::busy);
  CHECK(is(409) == kind::refused);
  CHECK(is(400, {}, "RequestTimeout") == kind::busy);
  CHECK(is(400, {}, "XAmzContentSHA256Mismatch") == kind::wrong);
  CHECK(is(400) == kind::refused);
  CHECK(is(301, "Location: https://x/") == kind::refused);
  CHECK(is(403, {}, "AccessDenied") == kind::refused);
  CHECK(is(404) == kind::not_found);
}

TEST_CASE("object_writer: what is put is there, signed with its content, and replaced as a whole") {
  bucket at;
  std::mt19937_64 random{1};
  for (const std::string key : {"x", "deep/er/ä b+c%d", "x"}) {
    const auto content = random_bytes(random, random() % 3'000'000);
    at.store.put("s3://b/" + key, bytes_of(content));
    CHECK(at.content(key) == content);
  }
  at.store.put("s3://b/empty", {});
  CHECK(at.content("empty").empty());
  const auto requests = at.server.requests();
  at.store.put("s3a://b/one", bytes_of("1"));
  CHECK(at.server.requests() == requests + 1);
  // What was put can be read, also where another version was read before.
  CHECK(at.store.stat("s3://b/one").version.size == 1);
  at.store.put("s3://b/one", bytes_of("22"));
  CHECK(at.store.stat("s3://b/one").version.size == 2);
}

TEST_CASE("object_writer: a busy server is asked again, and what it heard twice changes nothing") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    bucket at{random_faults(seed, 2, {fault::busy, fault::too_many, fault::reset})};
    for (int i = 0; i < 10; ++i) {
      const auto key = std::to_string(i);
      at.store.put("s3://b/" + key, bytes_of("content " + key));
      CHECK(at.content(key) == "content " + key);
    }
    CHECK(at.server.faults() > 0);
  }
}

TEST_CASE("object_writer: what was stored although the answer says otherwise is put again") {
  bucket at;
  std::atomic<int> puts{0};
  at.server.service = [&, real = s3_service{.folder = at.dir.path(), .owner = owner}](
                          const fault_server::request& x) -> std::optional<fault_server::response> {
    auto said = real(x);
    if (x.method == "PUT" && ++puts == 1)
      return fault_server::response{"500 Internal Server Error"};
    return said;
  };
  at.store.put("s3://b/x", bytes_of("content"));
  CHECK(at.content("x") == "content");
  CHECK(puts == 2);
}

TEST_CASE("object_writer: an answer without a version is asked for again, three times at most") {
  bucket at;
  std::atomic<int> asked{0};
  at.server.service = [&](const fault_server::request&) {
    ++asked;
    return fault_server::response{"200 OK"};
  };
  transfer_settings how = impatient();
  how.retry.most_wrong = 3;
  transfer_pool pool{how};
  const s3_store store{[&] { return at.settings(); }, &pool};
  check_error([&] { store.put("s3://b/x", bytes_of("x")); },
              {.code = errc::io,
               .file = "s3://b/x",
               .stage = "put",
               .got_has = "without an ETag, after 3 requests",
               .needed_has = "ETag"});
  CHECK(asked == 3);
}

TEST_CASE("object_writer: refusals are errors at once, with the service's code and request") {
  bucket at;
  at.by.secret_key = secret{"PLANTED"};
  const auto problem = problem_of([&] { at.store.put("s3://b/x", bytes_of("x")); });
  REQUIRE(problem);
  const std::string text{problem->what()};
  for (const char* part : {"s3://b/x", "403", "SignatureDoesNotMatch", "R17", "1 request"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("PLANTED") == std::string::npos);
  CHECK(at.server.requests() == 1);
  at.by = owner;
  check_error([&] { at.store.put("s3://none/x", bytes_of("x")); },
              {.code = errc::not_found, .got_has = "NoSuchBucket", .needed_has = "bucket"});
  for (const char* folder : {"s3://b", "s3://b/", "s3://b/d/"})
    check_error([&] { at.store.put(folder, bytes_of("x")); }, {.code = errc::invalid_argument});
}

TEST_CASE("object_writer: a clock that is wrong is corrected by the server's") {
  bucket at{{}, s3_service{.ahead = 5000}};
  at.store.put("s3://b/x", bytes_of("x"));
  CHECK(at.content("x") == "x");
  CHECK(at.server.requests() == 2);
}

TEST_CASE("object_writer: the signature covers the method and the content") {
  const aws_request asked{.host = "h", .path = "/b/x", .body_hash = sha256_text("a")};
  const auto signature = [&](const std::string& method, const std::string& body) {
    auto x = asked;
    x.method = method;
    x.body_hash = sha256_text(body);
    return aws_signature(x, owner, "r", 1).front();
  };
  CHECK(signature("PUT", "a") != signature("GET", "a"));
  CHECK(signature("PUT", "a") != signature("PUT", "b"));
  CHECK(sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("object_writer: web servers and the Hub take nothing, and names of them say so") {
  const temporary_directory dir;
  for (const char* name : {"https://h.example/x", "http://user:PLANTED@h.example/x?sig=PLANTED",
                           "hf://datasets/a/b/x", "ftp://h.example/x"}) {
    CAPTURE(name);
    const auto& store = store_of(name);
    const auto problem = problem_of([&] { store.put(name, bytes_of("x")); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(problem->details().needed.find("s3://") != std::string::npos);
    CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
  }
  CHECK_FALSE(store_of("https://h.example/x").can_put());
  CHECK_FALSE(store_of("hf://datasets/a/b/x").can_put());
  CHECK(store_of("gs://b/x").can_put());
  local_store().put(dir / "deep/er/x", bytes_of("12"));
  CHECK(content_of(dir / "deep/er/x") == "12");
  CHECK(names_in(dir / "deep/er").size() == 1);
}

} // namespace
} // namespace leat::object_writer_test
