// The store of web servers, against one that misbehaves.

#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/aws/s3_store.hpp"
#include "runtime/storage/remote/http_store.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <atomic>
#include <random>

namespace leat::http_store_test {
namespace {

using namespace leat::test;

std::string read_text(stored_objects& from, std::size_t object, std::uint64_t offset,
                      std::size_t size, const std::stop_token& stop = {}) {
  std::string text(size, '\0');
  read_now(from, object, offset, std::as_writable_bytes(std::span{text}), stop);
  return text;
}

struct served_files {
  temporary_directory dir;
  std::vector<std::string> texts;

  explicit served_files(std::uint64_t seed, std::size_t size = 300'000) {
    std::mt19937_64 random{seed};
    for (const std::string name : {"a", "b c", "empty"}) {
      texts.push_back(random_bytes(random, name == "empty" ? 0 : size));
      write_content(dir / name, texts.back());
    }
  }
  static std::vector<std::string> urls(const fault_server& at) {
    return {at.url("a"), at.url("b%20c"), at.url("empty")};
  }
};

std::shared_ptr<stored_objects> open_at(const http_store& store,
                                        const std::vector<std::string>& urls) {
  std::vector<std::string> names;
  for (const auto& x : urls)
    names.push_back(store.full_name(x));
  return store.open(names, read_pattern::normal);
}

TEST_CASE("http store: sizes, versions and any ranges of objects") {
  const served_files files{1};
  const fault_server server{files.dir.path()};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  CHECK(objects->name(1) == server.url("b c"));
  objects->expect_stats();
  CHECK(objects->stat(0).size == 300'000);
  CHECK(objects->stat(2).size == 0);
  CHECK(objects->stat(0).tag == "\"300000-1\"");
  CHECK(store.stat(store.full_name(server.url("a"))).version == objects->stat(0));
  CHECK(server.requests() == 4); // one for each object, and that of the store
  CHECK(read_text(*objects, 0, 0, 300'000) == files.texts[0]);
  CHECK(read_text(*objects, 1, 777, 5000) == files.texts[1].substr(777, 5000));
  CHECK(read_text(*objects, 2, 0, 0).empty());
  std::string end(100, '\0');
  CHECK(read_most(*objects, 0, 299'950, std::as_writable_bytes(std::span{end})) == 50);
  CHECK(read_most(*objects, 0, 300'000, std::as_writable_bytes(std::span{end})) == 0);
  CHECK(read_most(*objects, 2, 0, std::as_writable_bytes(std::span{end})) == 0);
  check_error([&] { read_text(*objects, 0, 299'950, 100); },
              {.code = errc::torn_file, .file = server.url("a"), .offset = 299'950});
}

TEST_CASE("http store: versions of objects are known with where they lie") {
  const served_files files{1};
  fault_server server{files.dir.path()};
  const http_store store{impatient()};
  const auto versions = [&](const fault_server& of) {
    return versions_of(*open_at(store, served_files::urls(of)), 2); // no version of "empty" is told
  };
  const auto before = versions(server);
  CHECK(before.are_known());
  CHECK(before.now == before.named);
  CHECK(before.named[0] == "\"300000-1\"");
  CHECK(before.files[1] == server.url("b c"));
  CHECK(versions(server) == before);
  server.change();
  const auto after = versions(server);
  CHECK(after.place == before.place);
  CHECK(after.digest != before.digest);
  const fault_server other{files.dir.path()};
  CHECK(versions(other).place != before.place);
  fault_server nameless{files.dir.path()};
  nameless.names_versions = false;
  CHECK_FALSE(versions(nameless).are_known());
}

TEST_CASE("http store: objects that were never asked for their size are read as well") {
  const served_files files{2};
  const fault_server server{files.dir.path()};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  std::string end(100, '\0');
  CHECK(read_most(*objects, 0, 299'950, std::as_writable_bytes(std::span{end})) == 50);
  CHECK(read_most(*objects, 1, 400'000, std::as_writable_bytes(std::span{end})) == 0);
  CHECK(read_most(*objects, 2, 0, std::as_writable_bytes(std::span{end})) == 0);
  CHECK(objects->stat(0).size == 300'000);
}

TEST_CASE("http store: several parts are one read, of as few requests as they allow") {
  const served_files files{3};
  const fault_server server{files.dir.path()};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  objects->stat(0);
  objects->stat(1);
  const auto before = server.requests();
  std::string text(3000, '\0');
  const auto bytes = std::as_writable_bytes(std::span{text});
  std::vector<read_part> parts{{0, 100, bytes.first(1000)},
                               {0, 1100, bytes.subspan(1000, 500)},
                               {1, 5, bytes.subspan(1500)}};
  read_now(*objects, parts);
  CHECK(text == files.texts[0].substr(100, 1500) + files.texts[1].substr(5, 1500));
  CHECK(server.requests() == before + 2);
}

TEST_CASE("http store: whatever single responses do wrong, the bytes are right") {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const served_files files{seed};
    const fault_server server{files.dir.path(), random_faults(seed, 5, passing_faults())};
    const http_store store{impatient_with_hangs(seed)};
    const auto objects = open_at(store, served_files::urls(server));
    std::atomic<int> wrong = 0;
    in_threads(6, [&](unsigned t) {
      std::mt19937_64 random{seed * 100 + t};
      for (int i = 0; i < 25; ++i) {
        const auto object = random() % 2;
        const auto offset = random() % 290'000;
        const auto size = 1 + random() % (i % 5 == 0 ? 100'000 : 3000);
        const auto n = std::min<std::uint64_t>(size, 300'000 - offset);
        wrong +=
            read_text(*objects, object, offset, n) != files.texts[object].substr(offset, n) ? 1 : 0;
      }
    });
    CHECK(wrong == 0);
    faults += server.faults();
  }
  CHECK(faults > 60);
}

TEST_CASE("http store: one kind of fault at a time") {
  const served_files files{4};
  for (const auto kind : passing_faults()) {
    CAPTURE(static_cast<int>(kind));
    // Each object and range meets it once, and the next response is good.
    std::atomic<std::uint64_t> count = 0;
    const fault_server server{files.dir.path(), [&](const auto& x) {
                                return x.end > 1 && count++ % 2 == 0 ? kind : fault::none;
                              }};
    const http_store store{impatient_with_hangs()};
    const auto objects = open_at(store, served_files::urls(server));
    CHECK(objects->stat(0).size == 300'000);
    for (std::uint64_t i = 0; i < 5; ++i)
      CHECK(read_text(*objects, 0, i * 1000 + 3, 70'000)
            == files.texts[0].substr(i * 1000 + 3, 70'000));
    CHECK(server.faults() >= 1);
  }
}

TEST_CASE("http store: what was received before a connection broke is not asked for again") {
  const served_files files{5};
  std::atomic<std::uint64_t> asked = 0;
  const fault_server server{files.dir.path(), [&](const auto& x) {
                              asked += x.end - x.begin;
                              return x.number == 2 ? fault::cut : fault::none;
                            }};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  objects->stat(0);
  CHECK(read_text(*objects, 0, 0, 200'000) == files.texts[0].substr(0, 200'000));
  CHECK(asked == 1 + 200'000 + 100'000);
}

TEST_CASE("http store: an object that changes is an error, never mixed bytes") {
  for (const bool honours : {true, false}) {
    const served_files files{6};
    fault_server server{files.dir.path()};
    server.honours_if_match = honours;
    const http_store store{impatient()};
    const auto objects = open_at(store, served_files::urls(server));
    CHECK(read_text(*objects, 0, 0, 1000) == files.texts[0].substr(0, 1000));
    server.change();
    check_error([&] { read_text(*objects, 0, 1000, 1000); },
                {.code = errc::io,
                 .file = server.url("a"),
                 .offset = 1000,
                 .got_has = honours ? "412" : "300000-2",
                 .needed_has = "300000-1"});
  }
}

TEST_CASE(
    "http store: errors say what the server said, and end at once where waiting helps nothing") {
  const served_files files{7};
  const auto error_of = [&](fault kind) {
    const fault_server server{files.dir.path(), [=](const auto&) { return kind; }};
    const http_store store{impatient()};
    const auto objects = open_at(store, served_files::urls(server));
    auto problem = problem_of([&] { read_text(*objects, 0, 10, 1000); });
    REQUIRE(problem);
    CHECK(problem->details().file == server.url("a"));
    CHECK(problem->details().offset == 10);
    return std::pair{*problem, server.requests()};
  };
  const auto [missing, once] = error_of(fault::not_found);
  CHECK(missing.code() == errc::not_found);
  CHECK(missing.details().got.find("404") != std::string::npos);
  CHECK(once == 1);
  const auto [forbidden, also_once] = error_of(fault::forbidden);
  CHECK(forbidden.code() == errc::io);
  CHECK(forbidden.details().got.find("403") != std::string::npos);
  CHECK(forbidden.details().got.find("AccessDenied") != std::string::npos);
  CHECK(forbidden.details().got.find("R17") != std::string::npos);
  CHECK(also_once == 1);
  const auto [ignoring, some] = error_of(fault::ignores_range);
  CHECK(ignoring.details().got.find("ignores ranges") != std::string::npos);
  CHECK(some == 20);
}

TEST_CASE("http store: a server that refuses everything is given up once patience has ended") {
  const served_files files{8};
  const fault_server server{files.dir.path(), [](const auto&) { return fault::busy; }};
  auto how = impatient();
  how.retry.patience = 100'000'000;
  const http_store store{how};
  const auto objects = open_at(store, served_files::urls(server));
  check_error([&] { read_text(*objects, 0, 0, 10); },
              {.code = errc::io, .file = server.url("a"), .got_has = "503, SlowDown"});
  CHECK(server.requests() > 2);
}

TEST_CASE("http store: what begins while a server is given up ends with the same words") {
  const served_files files{8};
  std::atomic<bool> is_busy = true;
  const fault_server server{files.dir.path(),
                            [&](const auto&) { return is_busy ? fault::busy : fault::none; }};
  auto how = impatient();
  how.retry.patience = 800'000'000;
  const http_store store{how};
  const auto objects = open_at(store, served_files::urls(server));
  check_error([&] { read_text(*objects, 0, 0, 10); },
              {.code = errc::io, .file = server.url("a"), .got_has = "503, SlowDown"});
  const auto requests = server.requests();
  check_error([&] { read_text(*objects, 1, 5, 10); },
              {.code = errc::io, .file = server.url("b c"), .got_has = "503, SlowDown"});
  CHECK(server.requests() == requests);
  is_busy = false;
  std::this_thread::sleep_for(std::chrono::milliseconds{150}); // it is asked again soon
  CHECK(read_text(*objects, 0, 0, 1000) == files.texts[0].substr(0, 1000));
}

TEST_CASE("http store: wrong answers end a read soon, however many others have failed") {
  const served_files files{8};
  const fault_server server{files.dir.path(), [](const auto& x) {
                              return x.end > 1 ? fault::ignores_range : fault::none;
                            }};
  auto how = impatient();
  how.retry.longest = 60'000'000'000;
  how.retry.most_wrong = 3;
  const http_store store{how};
  const auto objects = open_at(store, served_files::urls(server));
  for (std::uint64_t i = 0; i < 100; ++i) // more than may be asked again at once
    check_error([&] { read_text(*objects, 0, 1000 * i, 1000); },
                {.code = errc::io, .got_has = "the server ignores ranges"});
}

TEST_CASE("http store: a server that is not there is given up soon") {
  std::string url;
  {
    const temporary_directory dir;
    const fault_server server{dir.path()};
    url = server.url("x");
  }
  auto how = impatient();
  how.first_answer = std::chrono::milliseconds{100};
  const http_store store{how};
  const auto objects = open_at(store, {url});
  check_error([&] { objects->stat(0); }, {.code = errc::io, .file = url, .got_has = "connect"});
}

TEST_CASE("http store: a read ends when told to stop, also when told before") {
  const served_files files{9};
  std::atomic<bool> stalls = false;
  std::atomic<int> stalled = 0;
  const fault_server server{files.dir.path(), [&](const auto&) {
                              stalled += stalls ? 1 : 0;
                              return stalls ? fault::stalls : fault::none;
                            }};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  objects->stat(0);
  stalls = true;
  std::stop_source stop;
  std::optional<error> problem;
  std::thread reader{
      [&] { problem = problem_of([&] { read_text(*objects, 0, 0, 1000, stop.get_token()); }); }};
  while (stalled == 0)
    std::this_thread::yield();
  stop.request_stop();
  reader.join();
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  CHECK(code_of([&] { read_text(*objects, 0, 0, 1000, stop.get_token()); }) == errc::io);
  stalls = false;
  CHECK(read_text(*objects, 0, 0, 1000) == files.texts[0].substr(0, 1000));
}

TEST_CASE("http store: objects may go while their sizes are being asked for") {
  const served_files files{10};
  const fault_server server{files.dir.path(), [](const auto&) { return fault::stalls; }};
  const http_store store{impatient()};
  for (int i = 0; i < 5; ++i)
    open_at(store, served_files::urls(server))->expect_stats();
}

TEST_CASE("http store: slow requests are sent again, also those sent again, few of them") {
  const served_files files{11};
  // Of the two in a row, the second is the one that was sent since the first hangs.
  const fault_server server{files.dir.path(), [](const auto& x) {
                              return x.number % 50 >= 48 ? fault::stalls : fault::none;
                            }};
  auto how = impatient_with_hangs();
  how.stall = std::chrono::seconds{30};
  const http_store store{how};
  const auto by = store.open_transfers();
  const auto objects = open_at(store, served_files::urls(server));
  for (std::uint64_t i = 0; i < 300; ++i)
    CHECK(read_text(*objects, 0, i * 900, 800) == files.texts[0].substr(i * 900, 800));
  CHECK(by->counts().hedges_won >= 5);
  CHECK(by->counts().hedges <= 2 + by->counts().requests / 20);
}

TEST_CASE("http store: reads in flight do not depend on the threads that wait") {
  const served_files files{12};
  const fault_server server{files.dir.path()};
  const http_store store{impatient()};
  const auto objects = open_at(store, served_files::urls(server));
  std::vector<expected_range> ranges;
  for (std::uint64_t i = 0; i < 280; ++i)
    ranges.push_back({0, i * 1000, 1000});
  for (auto& x : ranges)
    x.size = 1100; // above what blocks serve
  CHECK(objects->expect_soon(ranges));
  for (const auto& x : ranges)
    CHECK(read_text(*objects, 0, x.offset, x.size) == files.texts[0].substr(x.offset, x.size));
  CHECK(server.requests() <= ranges.size() + 2);
  CHECK(server.most_at_once() >= 2);
}

TEST_CASE("http store: redirects are followed, remembered, and forgotten when they lead nowhere") {
  const served_files files{13};
  std::atomic<bool> is_gone = false;
  const fault_server other{files.dir.path(),
                           [&](const auto&) { return is_gone ? fault::forbidden : fault::none; }};
  const fault_server second{files.dir.path()};
  fault_server server{files.dir.path()};
  server.redirects["a"] = other.url("a");
  server.redirects["loop"] = "/loop";
  server.redirects["away"] = "ftp://127.0.0.1/a";
  const http_store store{impatient()};
  const auto objects = open_at(store, {server.url("a"), server.url("loop"), server.url("away")});
  CHECK(read_text(*objects, 0, 5, 100) == files.texts[0].substr(5, 100));
  CHECK(read_text(*objects, 0, 7, 100) == files.texts[0].substr(7, 100));
  CHECK(server.requests() == 1);
  is_gone = true; // a signature that has expired
  server.redirects["a"] = second.url("a");
  CHECK(read_text(*objects, 0, 9, 100) == files.texts[0].substr(9, 100));
  CHECK(second.requests() == 1);
  check_error([&] { objects->stat(1); }, {.code = errc::io, .got_has = "more than 5 redirects"});
  check_error([&] { objects->stat(2); }, {.code = errc::io, .got_has = "not allowed"});
}

TEST_CASE("http store: names with any characters are those of one object") {
  const temporary_directory dir;
  std::vector<std::string> urls;
  const std::vector<std::string> names{"50%25.x", "a%41.x", "what%3F.x", "%23.x", "[1].x", "@.x"};
  const std::vector<std::string> files{"50%.x", "aA.x", "what?.x", "#.x", "[1].x", "@.x"};
  const fault_server server{dir.path()};
  for (std::size_t i = 0; i < names.size(); ++i) {
    write_content(dir / files[i], files[i]);
    urls.push_back(server.url(names[i]));
  }
  write_content(dir / "%41", "another file");
  urls.push_back(server.url("%2541"));
  const http_store store{impatient()};
  const auto objects = open_at(store, urls);
  for (std::size_t i = 0; i < names.size(); ++i)
    CHECK(read_text(*objects, i, 0, files[i].size()) == files[i]);
  CHECK(read_text(*objects, names.size(), 0, 12) == "another file");
}

TEST_CASE("http store: names choose their store, and patterns with them are refused") {
  CHECK(&store_of("http://x/y") == &process_stores()->of("http://z"));
  CHECK(&store_of("HTTPS://x/y") == &store_of("http://x/y"));
  CHECK(&store_of("/a/b") == &local_store());
  CHECK(&store_of("s3://a/b") == &process_stores()->of("s3://c/d"));
  const auto files = find_files({"http://h/d/{1..3}.tar", "http://h/e%20f"}, "test");
  CHECK(files.paths
        == std::vector<std::string>{"http://h/d/1.tar", "http://h/d/2.tar", "http://h/d/3.tar",
                                    "http://h/e f"});
  CHECK(files.names == std::vector<std::string>{"d/1.tar", "d/2.tar", "d/3.tar", "e f"});
  CHECK(files.store == &store_of("http://x/y"));
  CHECK(find_files({"http://h/d/x.tar"}, "test").names == std::vector<std::string>{"x.tar"});
  for (const std::string pattern : {"http://h/*.tar", "http://h/a[1].tar"})
    check_error([&] { find_files({pattern}, "test"); },
                {.code = errc::invalid_argument, .got_has = "cannot be listed"});
  check_error(
      [&] {
        find_files({"http://h/x", "http://h/%78"}, "test");
      },
      {.code = errc::invalid_argument, .got_has = "twice"});
  const temporary_directory dir;
  write_content(dir / "x", "x");
  check_error(
      [&] {
        find_files({dir / "x", "http://h/x"}, "test");
      },
      {.code = errc::invalid_argument, .got_has = "elsewhere"});
  CHECK(find_files({"http://[::1]:80/x"}, "test").paths.size() == 1);
}

TEST_CASE("http store: no error of names shows what may be a secret") {
  const temporary_directory dir;
  write_content(dir / "x", "x");
  using names = std::vector<std::string>;
  for (const auto& patterns : std::vector<names>{{"https://user:secret@h/x"},
                                                 {"https://h/x?signature=secret"},
                                                 {"https://h/*.tar?secret"},
                                                 {"https://user:secret@h/*.tar"},
                                                 {"https://user:secret@h/{1..999999999}.tar"},
                                                 {"https://h/{1..999999999}.tar?secret"},
                                                 {dir / "x", "https://user:secret@h/x"},
                                                 {"http://h/x", "s3://user:secret@bucket/x"},
                                                 {"s3://user:secret@bucket/x"},
                                                 {"ftp://user:secret@h/x?secret"}}) {
    CAPTURE(patterns);
    const auto problem = problem_of([&] { find_files(patterns, "test"); });
    REQUIRE(problem);
    CHECK(std::string{problem->what()}.find("secret") == std::string::npos);
    const auto opening = problem_of([&] { open_named(patterns, "test"); });
    CHECK((!opening || std::string{opening->what()}.find("secret") == std::string::npos));
  }
}

} // namespace
} // namespace leat::http_store_test
