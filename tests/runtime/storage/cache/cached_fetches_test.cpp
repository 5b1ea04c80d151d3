// Reads through a cache, against a server that misbehaves and a directory that others share.

#include "runtime/storage/cache/cached_fetches.hpp"
#include "runtime/storage/read_now.hpp"
#include "tests/support/block_files.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"
#include "tests/support/web_files.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace leat::cached_fetches_test {
namespace {

using namespace leat::test;
namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

std::string read_text(stored_objects& from, std::size_t object, std::uint64_t offset,
                      std::size_t size, const std::stop_token& stop = {}) {
  std::string text(size, '\0');
  read_now(from, object, offset, std::as_writable_bytes(std::span{text}), stop);
  return text;
}

/// Sends no request a second time only because it takes long, so that bytes can be counted.
transfer_settings patient() {
  auto how = impatient();
  how.hedge_after = std::chrono::hours{1};
  how.stall = std::chrono::seconds{30};
  return how;
}

/// Files, the server that has them, and a cache.
struct cached_files {
  temporary_directory served;
  temporary_directory at;
  std::vector<std::string> texts;
  std::atomic<std::uint64_t> bytes_sent = 0;
  std::atomic<std::uint64_t> versions_asked = 0;
  std::unique_ptr<fault_server> server;

  explicit cached_files(std::uint64_t seed, fault_server::choice choose = {}) {
    std::mt19937_64 random{seed};
    for (const std::size_t size : {3 * mebibyte + 12'345, mebibyte, std::size_t{5000}}) {
      texts.push_back(random_bytes(random, size));
      write_content(served / name(texts.size() - 1), texts.back());
    }
    server = std::make_unique<fault_server>(served.path(), [this, choose](const auto& x) {
      const auto what = choose ? choose(x) : fault::none;
      const auto size = texts[static_cast<std::size_t>(x.path.back() - 'a')].size();
      if (x.begin == 0 && x.end == 1)
        ++versions_asked;
      else if (what == fault::none)
        bytes_sent += std::min<std::uint64_t>(x.end, size) - std::min<std::uint64_t>(x.begin, size);
      return what;
    });
  }
  static std::string name(std::size_t i) { return std::string(1, static_cast<char>('a' + i)); }

  std::uint64_t bytes() const {
    std::uint64_t all = 0;
    for (const auto& x : texts)
      all += x.size();
    return all;
  }
  cache_settings settings(std::uint64_t limit = 1 << 30) const {
    return {.directory = at.path(), .limit = limit, .reserve = 0};
  }
  http_store store(std::uint64_t limit = 1 << 30) const {
    return http_store{patient(), settings(limit)};
  }
  std::shared_ptr<stored_objects> open(const http_store& from) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < texts.size(); ++i)
      names.push_back(server->url(name(i)));
    return from.open(names, read_pattern::normal);
  }
  /// Reads at random; how many were wrong.
  int read_at_random(stored_objects& from, std::uint64_t seed, int reads) const {
    std::mt19937_64 random{seed};
    int wrong = 0;
    for (int i = 0; i < reads; ++i) {
      const auto object = random() % texts.size();
      const auto& text = texts[object];
      const auto offset = random() % text.size();
      const auto size = 1 + random() % (i % 7 == 0 ? text.size() : 3000);
      const auto n = std::min<std::uint64_t>(size, text.size() - offset);
      wrong += read_text(from, object, offset, n) == text.substr(offset, n) ? 0 : 1;
    }
    return wrong;
  }
  /// Reads all of it.
  bool reads_right(stored_objects& from) const {
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (read_text(from, i, 0, texts[i].size()) != texts[i])
        return false;
    return true;
  }
};

TEST_CASE("cached fetches: any reads give the server's bytes, and a second pass asks for none") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const cached_files files{seed};
    const auto store = files.store();
    const auto objects = files.open(store);
    CHECK(files.read_at_random(*objects, seed, 100) == 0);
    CHECK(files.reads_right(*objects));
    CHECK(files.bytes_sent == files.bytes());
    const auto before = files.server->requests();
    CHECK(files.read_at_random(*objects, seed + 100, 100) == 0);
    CHECK(files.reads_right(*objects));
    CHECK(files.server->requests() == before);
  }
}

TEST_CASE("cached fetches: another job asks for versions alone") {
  const cached_files files{4};
  {
    const auto store = files.store();
    CHECK(files.reads_right(*files.open(store)));
  }
  const auto before = files.server->requests();
  const auto store = files.store();
  const auto objects = files.open(store);
  CHECK(files.read_at_random(*objects, 1, 100) == 0);
  CHECK(files.reads_right(*objects));
  CHECK(files.bytes_sent == files.bytes());
  CHECK(files.server->requests() <= before + 3 + files.versions_asked);
}

TEST_CASE("cached fetches: ends, gaps and several parts are as without a cache") {
  const cached_files files{5};
  const auto store = files.store();
  const http_store plain{impatient()};
  const auto cached = files.open(store);
  const auto direct = files.open(plain);
  for (const auto& [object, offset] :
       std::vector<std::pair<std::size_t, std::uint64_t>>{{0, 3 * mebibyte + 12'300},
                                                          {0, 3 * mebibyte + 12'345},
                                                          {0, 9 * mebibyte},
                                                          {1, mebibyte - 10},
                                                          {1, mebibyte},
                                                          {2, 4990},
                                                          {2, 5000}}) {
    CAPTURE(object, offset);
    std::string one(100, '-');
    std::string other(100, '-');
    CHECK(read_most(*cached, object, offset, std::as_writable_bytes(std::span{one}))
          == read_most(*direct, object, offset, std::as_writable_bytes(std::span{other})));
    CHECK(one == other);
  }
  std::string text(3000, '\0');
  const auto bytes = std::as_writable_bytes(std::span{text});
  std::vector<read_part> parts{{0, mebibyte - 500, bytes.first(700)},
                               {0, mebibyte + 200, bytes.subspan(700, 300)},
                               {2, 5, bytes.subspan(1000)}};
  read_now(*cached, parts);
  CHECK(text == files.texts[0].substr(mebibyte - 500, 1000) + files.texts[2].substr(5, 2000));
}

TEST_CASE("cached fetches: what is expected and in the cache is read there") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const cached_files files{seed};
    {
      const auto store = files.store();
      CHECK(files.reads_right(*files.open(store)));
    }
    const auto store = files.store();
    const auto objects = files.open(store);
    for (std::size_t i = 0; i < files.texts.size(); ++i)
      objects->stat(i);
    const auto requests = files.server->requests();
    std::mt19937_64 random{seed};
    std::vector<expected_range> ranges;
    for (int i = 0; i < 200; ++i) {
      const auto object = random() % files.texts.size();
      const auto size = files.texts[object].size();
      const auto offset = random() % size;
      ranges.push_back(
          {object, offset, std::min<std::uint64_t>(1 + random() % 200'000, size - offset)});
    }
    objects->expect_soon(ranges);
    int wrong = 0;
    for (const auto& x : ranges)
      wrong += read_text(*objects, x.object, x.offset, x.size)
                       == files.texts[x.object].substr(x.offset, x.size)
                   ? 0
                   : 1;
    CHECK(wrong == 0);
    CHECK(files.server->requests() == requests);
  }
}

TEST_CASE("cached fetches: many threads of several processes fetch each byte once") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const cached_files files{seed};
    // A store with a pool of its own locks files as a process does.
    std::vector<std::unique_ptr<http_store>> stores;
    std::vector<std::shared_ptr<stored_objects>> objects;
    for (int i = 0; i < 4; ++i) {
      stores.push_back(std::make_unique<http_store>(patient(), files.settings()));
      objects.push_back(files.open(*stores.back()));
    }
    std::atomic<int> wrong = 0;
    in_threads(12, [&](unsigned t) {
      wrong += files.read_at_random(*objects[t % 4], seed * 100 + t, 20);
      wrong += files.reads_right(*objects[t % 4]) ? 0 : 1;
    });
    CHECK(wrong == 0);
    CHECK(files.bytes_sent == files.bytes());
    objects.clear();
    stores.clear(); // which waits until all is stored
    CHECK(block_files(files.at.path()).size() == 6);
    CHECK(block_files(files.at.path(), ".part").empty());
  }
}

TEST_CASE("cached fetches: whatever responses do wrong, the bytes are right") {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    const cached_files files{seed, random_faults(seed, 3, passing_faults())};
    const http_store store{impatient_with_hangs(seed), files.settings()};
    const auto objects = files.open(store);
    std::atomic<int> wrong = 0;
    in_threads(4, [&](unsigned t) {
      wrong += files.read_at_random(*objects, seed * 100 + t, 20);
      wrong += files.reads_right(*objects) ? 0 : 1;
    });
    CHECK(wrong == 0);
    faults += files.server->faults();
    const auto before = files.server->requests();
    CHECK(files.reads_right(*objects));
    CHECK(files.server->requests() == before);
  }
  CHECK(faults > 4);
}

TEST_CASE("cached fetches: a changed object is an error, and a new job reads no old block") {
  const cached_files files{6};
  {
    const auto store = files.store();
    const auto objects = files.open(store);
    CHECK(read_text(*objects, 0, 0, 1000) == files.texts[0].substr(0, 1000));
    files.server->change();
    check_error([&] { read_text(*objects, 0, 2 * mebibyte, 1000); },
                {.code = errc::io, .file = files.server->url("a"), .got_has = "412"});
  }
  const auto before = files.bytes_sent.load();
  const auto store = files.store();
  const auto objects = files.open(store);
  CHECK(read_text(*objects, 0, 0, 1000) == files.texts[0].substr(0, 1000));
  CHECK(files.bytes_sent == before + mebibyte);
}

TEST_CASE("cached fetches: an object without a version is not kept") {
  const cached_files files{7};
  files.server->names_versions = false;
  const auto store = files.store();
  const auto objects = files.open(store);
  CHECK(files.reads_right(*objects));
  CHECK(files.reads_right(*objects));
  CHECK(files.bytes_sent == 2 * files.bytes());
  CHECK(block_files(files.at.path()).empty());
}

TEST_CASE("cached fetches: errors of the server are those of a read without a cache") {
  for (const auto kind : {fault::forbidden, fault::not_found}) {
    std::atomic<bool> is_on = false;
    const cached_files files{8, [&](const auto&) { return is_on ? kind : fault::none; }};
    const auto store = files.store();
    const auto objects = files.open(store);
    objects->stat(0);
    is_on = true;
    for (const std::size_t object : {0, 1}) // known, and not even asked for its version
      check_error([&] { read_text(*objects, object, 10, 1000); },
                  {.code = kind == fault::forbidden ? errc::io : errc::not_found,
                   .file = files.server->url(cached_files::name(object)),
                   .got_has = kind == fault::forbidden ? "403" : "404"});
    is_on = false;
    CHECK(files.reads_right(*objects));
  }
}

TEST_CASE("cached fetches: damaged blocks are found, and fetched again") {
  const cached_files files{9};
  {
    const auto store = files.store();
    CHECK(files.reads_right(*files.open(store)));
  }
  std::mt19937_64 random{9};
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const auto blocks = block_files(files.at.path()); // all are stored: no store is open
    REQUIRE(blocks.size() == 6);
    const auto& file = blocks[random() % blocks.size()];
    auto bytes = content_of(file);
    if (i % 4 == 3)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    write_content(file, bytes);
    const auto store = files.store();
    const auto objects = files.open(store);
    CHECK(files.reads_right(*objects));
    const auto before = files.server->requests();
    CHECK(files.reads_right(*objects));
    CHECK(files.server->requests() == before);
  }
}

TEST_CASE("cached fetches: data beyond the limit fills it once, and the rest is read as wanted") {
  const cached_files files{10};
  const auto limit = 3 * (mebibyte + 70'000);
  const auto store = files.store(limit);
  const auto objects = files.open(store);
  CHECK(files.reads_right(*objects));
  for (int pass = 0; pass < 3; ++pass) {
    const auto before = files.bytes_sent.load();
    CHECK(files.reads_right(*objects));
    CHECK(files.bytes_sent - before <= files.bytes() - 2 * mebibyte);
    CHECK(block_files(files.at.path()).size() <= 3);
  }
  const auto before = files.bytes_sent.load();
  CHECK(files.read_at_random(*objects, 1, 6) == 0);
  CHECK(files.bytes_sent - before < 3 * mebibyte);
}

TEST_CASE("cached fetches: a disk that takes nothing, or goes, fails no read") {
  heard_notices heard;
  const cached_files files{11};
  {
    const auto store = files.store();
    const auto objects = files.open(store);
    const file_size_limit limit{100'000};
    CHECK(files.reads_right(*objects));
    CHECK(files.reads_right(*objects));
  }
  CHECK(heard.number() == 1);
  const auto store = files.store();
  const auto objects = files.open(store);
  std::jthread removing{[&](const std::stop_token& stop) {
    std::error_code ignored;
    while (!stop.stop_requested())
      fs::remove_all(own_folder_of(files.at.path()), ignored);
  }};
  for (int i = 0; i < 5; ++i)
    CHECK(files.reads_right(*objects));
}

TEST_CASE("cached fetches: a directory that cannot be made is done without") {
  heard_notices heard;
  const cached_files files{12};
  write_content(files.at / "leat-cache-1", "mine");
  const auto store = files.store();
  CHECK(files.reads_right(*files.open(store)));
  CHECK(files.reads_right(*files.open(store)));
  CHECK(heard.number() == 1);
  CHECK(content_of(files.at / "leat-cache-1") == "mine");
  const auto small = files.store(1000);
  CHECK(code_of([&] { files.open(small); }) == errc::invalid_argument);
}

TEST_CASE("cached fetches: who holds a block for too long is not waited for") {
  const cached_files files{13};
  auto how = files.settings();
  how.patience = std::chrono::milliseconds{50};
  const http_store store{patient(), how};
  const auto objects = files.open(store);
  const auto pin = objects->stat(1);
  // As another process would hold it that was stopped.
  cache_directory other{files.settings()};
  const auto key = block_key(files.server->address(), files.server->url("b"),
                             {pin.size, object_pin::kind::etag, pin.tag});
  REQUIRE(key);
  auto claim = other.claim({*key, 0});
  REQUIRE(claim.is() == block_claim::state::mine);
  CHECK(read_text(*objects, 1, 5, 1000) == files.texts[1].substr(5, 1000));
  CHECK(files.bytes_sent == 1000);
  claim = {};
  CHECK(read_text(*objects, 1, 5, 1000) == files.texts[1].substr(5, 1000));
  CHECK(files.bytes_sent == 1000 + mebibyte);
}

/// Claims a block in another process, which is killed at the end.
class claiming_child {
public:
  claiming_child(const cache_settings& how, const block_id& id) : pid_(::fork()) {
    if (pid_ != 0)
      return;
    cache_directory cache{how};
    const auto claim = cache.claim(id);
    ::pause();
    ::_exit(0);
  }
  ~claiming_child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  claiming_child(const claiming_child&) = delete;
  claiming_child& operator=(const claiming_child&) = delete;

private:
  const pid_t pid_;
};

TEST_CASE("cached fetches: who waits for a block takes it over from one that gives up or dies") {
  for (const bool dies : {false, true}) {
    CAPTURE(dies);
    const cached_files files{14};
    const auto store = files.store();
    const auto objects = files.open(store);
    const auto pin = objects->stat(1);
    const auto key = block_key(files.server->address(), files.server->url("b"),
                               {pin.size, object_pin::kind::etag, pin.tag});
    cache_directory other{files.settings()};
    block_claim claim;
    std::optional<claiming_child> child;
    if (dies)
      child.emplace(files.settings(), block_id{*key, 0});
    else
      claim = other.claim({*key, 0});
    while (block_files(files.at.path(), ".part").empty())
      std::this_thread::yield();
    std::string text;
    std::jthread reader{[&] { text = read_text(*objects, 1, 5, 1000); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{30}); // so that it waits, or will
    CHECK((dies || files.bytes_sent == 0));
    claim = {};
    child.reset();
    reader.join();
    CHECK(text == files.texts[1].substr(5, 1000));
    CHECK(files.bytes_sent == mebibyte);
  }
}

TEST_CASE("cached fetches: a read ends when told to stop, whoever has its block") {
  std::atomic<bool> stalls = false;
  std::atomic<int> stalled = 0;
  const cached_files files{15, [&](const auto&) {
                             stalled += stalls ? 1 : 0;
                             return stalls ? fault::stalls : fault::none;
                           }};
  const auto store = files.store();
  for (const bool is_held : {false, true}) {
    const auto objects = files.open(store);
    const auto pin = objects->stat(1);
    const auto key = block_key(files.server->address(), files.server->url("b"),
                               {pin.size, object_pin::kind::etag, pin.tag});
    cache_directory other{files.settings()};
    block_claim claim;
    if (is_held)
      claim = other.claim({*key, 0});
    stalls = true;
    stalled = 0;
    std::stop_source stop;
    std::optional<error> problem;
    std::thread reader{
        [&] { problem = problem_of([&] { read_text(*objects, 1, 0, 9, stop.get_token()); }); }};
    while (stalled == 0 && !is_held)
      std::this_thread::yield();
    stop.request_stop();
    reader.join();
    REQUIRE(problem);
    CHECK(problem->code() == errc::io);
    CHECK(code_of([&] { read_text(*objects, 1, 0, 9, stop.get_token()); }) == errc::io);
    stalls = false;
  }
  CHECK(files.reads_right(*files.open(store)));
}

TEST_CASE("cached fetches: what is expected is read ahead through it") {
  const cached_files files{16};
  const auto store = files.store();
  const auto objects = files.open(store);
  std::vector<expected_range> ranges;
  std::mt19937_64 random{16};
  for (int i = 0; i < 200; ++i)
    ranges.push_back({0, random() % (3 * mebibyte), 2000 + random() % 5000});
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(objects->expect_soon(ranges));
    for (const auto& x : ranges)
      CHECK(read_text(*objects, 0, x.offset, x.size) == files.texts[0].substr(x.offset, x.size));
  }
  CHECK(files.bytes_sent <= files.texts[0].size());
  CHECK(files.versions_asked == 1);
}

TEST_CASE("cached fetches: no name of what was read is in a name or a file of the cache") {
  const cached_files files{17};
  {
    const auto store = files.store();
    CHECK(files.reads_right(*files.open(store)));
  }
  const auto host = files.server->address().substr(std::string_view{"http://"}.size());
  for (const auto& x : fs::recursive_directory_iterator{files.at.path()}) {
    CHECK(x.path().native().find(host) == std::string::npos);
    if (x.is_regular_file())
      CHECK(content_of(x.path()).find(host) == std::string::npos);
  }
}

TEST_CASE("cached fetches: the environment names a directory and a limit") {
  const auto read = [](const std::string& at, const std::string& limit) {
    return read_cache_settings(
        [=](const char* name) { return std::string_view{name} == "LEAT_CACHE" ? at : limit; });
  };
  CHECK(read("", "").directory.empty());
  CHECK(read("/x", "").directory == "/x");
  CHECK(read("/x", "").limit == std::numeric_limits<std::uint64_t>::max());
  CHECK(read("/x", "5000000").limit == 5'000'000);
  for (const auto* wrong : {"x", "-1", "5G", "99999999999999999999999"})
    check_error([&] { read("/x", wrong); },
                {.code = errc::invalid_argument, .stage = "cache", .got_has = wrong});
}

} // namespace
} // namespace leat::cached_fetches_test
