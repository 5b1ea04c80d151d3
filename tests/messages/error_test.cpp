#include "tests/support/test.hpp"

namespace leat::error_test {
namespace {

TEST_CASE("error: its text holds all that is known, in one order") {
  const error x{errc::torn_file,
                {.stage = "tar_shards",
                 .sample = "a.tar/7",
                 .file = "/data/a.tar",
                 .offset = 512,
                 .got = "100 bytes",
                 .needed = "512"}};
  CHECK(std::string{x.what()}
        == "torn file: tar_shards, sample a.tar/7, file /data/a.tar, offset 512, got 100 bytes, "
           "needed 512");
  CHECK(x.code() == errc::torn_file);
  CHECK(x.details().offset == 512);
}

TEST_CASE("error: what is not known is left out of its text") {
  CHECK(std::string{error(errc::io, {.file = "x", .offset = 0}).what()}
        == "input/output: file x, offset 0");
  CHECK(std::string{error(errc::stuck, {}).what()} == "stuck");
}

TEST_CASE("error: its text is one line without control characters, whatever was thrown") {
  const error x{errc::bad_sample,
                {.sample = "a\nb", .got = std::string{"\0\x1B\x7F ü", 6}, .needed = "x\n  y"}};
  CHECK(std::string{x.what()}
        == "bad sample: sample a\\x0Ab, got \\x00\\x1B\\x7F ü, needed x\\x0A  y");
}

TEST_CASE("error: a long text is shown without its middle, cut between characters") {
  std::string name;
  while (name.size() < 1'000'000)
    name += "ü";
  const error x{errc::not_found, {.file = "a" + name, .got = "nothing"}};
  const std::string text = x.what();
  CHECK(text.size() < 2100);
  CHECK(text.starts_with("not found: file aü"));
  CHECK(has(text, "ü ... ("));
  CHECK(has(text, " more bytes) ... ü"));
  CHECK(text.ends_with("ü, got nothing"));
  CHECK(x.details().file.size() == name.size() + 1);
}

TEST_CASE("error: each entry of a list has a line of its own") {
  const error x{errc::mismatch, {.stage = "snapshot", .got = "2 errors", .list = {"a", "b\nc"}}};
  CHECK(std::string{x.what()} == "mismatch: snapshot, got 2 errors\n  a\n  b\\x0Ac");
}

TEST_CASE("error: every code has a name of its own") {
  std::set<std::string_view> names;
  for (auto code = static_cast<int>(errc::invalid_argument);
       code <= static_cast<int>(errc::interrupted); ++code)
    CHECK(names.insert(to_string(static_cast<errc>(code))).second);
  CHECK(names.count("unknown error") == 0);
  CHECK(to_string(static_cast<errc>(0)) == "unknown error");
}

TEST_CASE("bad_sample: every cause prints and reads back") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < num_causes; ++i) {
    const auto x = static_cast<cause>(i);
    CHECK(names.insert(to_string(x)).second);
    CHECK(parse_cause(to_string(x)) == x);
  }
  CHECK_FALSE(parse_cause("truncate"));
  CHECK_FALSE(parse_cause(""));
}

} // namespace
} // namespace leat::error_test
