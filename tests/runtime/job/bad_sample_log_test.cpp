#include "runtime/job/bad_sample_log.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace leat::bad_sample_log_test {
namespace {

bad_row masked(std::uint64_t position, std::string id = "a") {
  return {position, std::move(id), cause::empty, "none", {}};
}

struct fixture {
  test::temporary_directory directory;
  std::string path = directory / "bad.jsonl";
  bad_sample_log log{path};

  std::string content() const { return test::content_of(path); }
};

std::string line(int epoch, int step, int position) {
  return "{\"epoch\":" + std::to_string(epoch) + ",\"step\":" + std::to_string(step)
         + ",\"rank\":0,\"position\":" + std::to_string(position)
         + ",\"id\":\"a\",\"cause\":\"empty\",\"text\":\"none\",\"substitute\":null}\n";
}

TEST_CASE_METHOD(fixture, "bad_sample_log: each bad row is one line of JSON") {
  log.append(3, 4, 1, {});
  CHECK(content().empty());
  log.append(3, 4, 1, {{17, "x\"y", cause::corrupt, "a\nb", "z"}, masked(19)});
  CHECK(content()
        == "{\"epoch\":3,\"step\":4,\"rank\":1,\"position\":17,\"id\":\"x\\\"y\",\"cause\":"
           "\"corrupt\",\"text\":\"a\\nb\",\"substitute\":\"z\"}\n"
           "{\"epoch\":3,\"step\":4,\"rank\":1,\"position\":19,\"id\":\"a\",\"cause\":\"empty\","
           "\"text\":\"none\",\"substitute\":null}\n");
}

TEST_CASE_METHOD(fixture, "bad_sample_log: a cut removes what the run will write again") {
  std::string all;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int step = 0; step < 3; ++step) {
      log.append(static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(step), 0,
                 {masked(8)});
      all += line(epoch, step, 8);
    }
  REQUIRE(content() == all);
  log.cut(5, 0, 0, 1);
  CHECK(content() == all);
  log.cut(1, 2, 0, 1);
  CHECK(content() == line(0, 0, 8) + line(0, 1, 8) + line(0, 2, 8) + line(1, 0, 8) + line(1, 1, 8));
  log.append(1, 2, 0, {masked(8)});
  log.cut(0, 0, 0, 1);
  CHECK(content().empty());
}

TEST_CASE_METHOD(fixture, "bad_sample_log: a cut removes a torn last line, wherever it is torn") {
  const auto whole = line(0, 1, 2);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    test::write_content(path, whole + whole.substr(0, n));
    log.cut(9, 0, 0, 1);
    REQUIRE(content() == whole);
  }
}

TEST_CASE_METHOD(fixture, "bad_sample_log: numbers inside of an id are not taken for the line's") {
  log.append(1, 1, 0, {masked(0, "\"epoch\":0,\"step\":0")});
  log.cut(1, 1, 0, 1);
  CHECK(content().empty());
}

TEST_CASE_METHOD(fixture,
                 "bad_sample_log: a log that cannot be written is an error with its path") {
  bad_sample_log nowhere{directory / "none/bad.jsonl"};
  const auto x = thrown_by([&] { nowhere.append(0, 0, 0, {masked(1)}); });
  CHECK(x.code() == errc::io);
  CHECK(x.details().file == directory / "none/bad.jsonl");
  CHECK(x.details().got == "No such file or directory");
}

TEST_CASE_METHOD(fixture, "bad_sample_log: one that cannot be read when it is cut is an error") {
  log.append(0, 1, 0, {masked(2)});
  const auto child = ::fork();
  if (child == 0) {
    // A sanitizer needs a pipe to look at the first error, and none for later ones.
    (void)code_of([] { (void)file_descriptor::open("/proc/none"); });
    const rlimit none{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &none);
    ::_exit(code_of([&] { log.cut(0, 0, 0, 1); }) == errc::no_resources ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(content() == line(0, 1, 2));
}

TEST_CASE_METHOD(fixture, "bad_sample_log: a rank's cut leaves what others have written since") {
  for (std::uint64_t rank = 0; rank < 5; ++rank) // of an earlier world
    log.append(1, 0, rank, {masked(rank)});
  const auto lines_of = [&](std::uint64_t rank) {
    const auto text = content();
    const auto mark = "\"rank\":" + std::to_string(rank) + ",";
    std::size_t n = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
      ++n;
    return n;
  };
  log.cut(1, 0, 0, 2);
  CHECK(lines_of(0) + lines_of(2) + lines_of(4) == 0);
  CHECK(lines_of(1) + lines_of(3) == 2);
  log.append(1, 0, 0, {masked(0)}); // rank 0 is faster
  log.cut(1, 0, 1, 2);
  CHECK(lines_of(0) == 1);
  CHECK(lines_of(1) + lines_of(3) == 0);
}

TEST_CASE_METHOD(fixture, "bad_sample_log: ranks in threads restore and write one file at once") {
  constexpr std::uint64_t ranks = 8;
  constexpr std::uint64_t lines = 20;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    for (std::uint64_t step = 0; step < lines; ++step)
      log.append(0, step, rank, {masked(step)});
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        bad_sample_log own{path};
        own.cut(0, lines / 2, rank, ranks);
        for (std::uint64_t step = lines / 2; step < lines; ++step)
          own.append(0, step, rank, {masked(step)});
      });
  }
  std::multiset<std::string> got;
  std::istringstream all{content()};
  for (std::string line; std::getline(all, line);)
    got.insert(line);
  CHECK(got.size() == ranks * lines);
  CHECK(std::set<std::string>{got.begin(), got.end()}.size() == ranks * lines);
  CHECK(test::names_in(directory.path()).size() == 1);
}

TEST_CASE("bad_sample_log: without a path nothing is written") {
  bad_sample_log log{""};
  log.append(0, 0, 0, {masked(1)});
  log.cut(0, 0, 0, 1);
}

TEST_CASE("bad_sample_log: an address is refused") {
  CHECK_THROWS_AS(bad_sample_log{"s3://b/log"}, error);
}

} // namespace
} // namespace leat::bad_sample_log_test
