#include "runtime/cluster/file_state_directory.hpp"
#include "runtime/cluster/memory_state_directory.hpp"
#include "runtime/storage/durable_file.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/files.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/notice.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace leat::state_directory_test {
namespace {

namespace fs = std::filesystem;
using test::names_in;
using test::pipe_pair;
using test::temporary_directory;
using test::write_content;

/// Runs a test over files, in a directory that does not exist yet, and over memory.
void for_both(const std::function<void(state_directory&)>& run) {
  const temporary_directory at;
  file_state_directory files{at / "new/state"};
  run(files);
  memory_state_directory memory;
  run(memory);
}

struct kept_files {
  temporary_directory at;
  file_state_directory x{at.path()};
};

TEST_CASE("state directory: lives are numbered from 1, and the newest one's address is told") {
  for_both([](state_directory& x) {
    CHECK(x.newest_life() == 0);
    CHECK_FALSE(x.address_of_newest());
    CHECK_FALSE(x.read_state());
    CHECK_FALSE(x.job());
    CHECK(x.begin_life("job", "node1:1") == 1);
    CHECK(x.begin_life("job", "node2:2") == 2);
    CHECK(x.newest_life() == 2);
    CHECK(x.address_of_newest().value().address == "node2:2");
    CHECK(x.address_of_newest().value().life == 2);
    CHECK(x.job() == "job");
  });
}

TEST_CASE(
    "state directory: the newest life's state counts, also when an older one is written later") {
  for_both([](state_directory& x) {
    const auto first = x.begin_life("job", "a:1");
    x.write_state(first, "job", "one");
    x.write_state(first, "job", std::string("two\0", 4));
    CHECK(x.read_state().value().state == job_state{"job", std::string("two\0", 4)});
    const auto second = x.begin_life("job", "b:1");
    CHECK(x.read_state().value().life == first);
    x.write_state(second, "job", "");
    x.write_state(first, "job", "late");
    CHECK(x.read_state().value().life == second);
    CHECK(x.read_state().value().state.bytes.empty());
  });
}

TEST_CASE("state directory: lives that write nothing remove no state") {
  for_both([](state_directory& x) {
    x.write_state(x.begin_life("job", "a:1"), "job", "kept");
    for (int i = 0; i < 5; ++i)
      x.begin_life("job", "a:1");
    CHECK(x.newest_life() == 6);
    CHECK(x.read_state().value().life == 1);
    CHECK(x.read_state().value().state.bytes == "kept");
  });
}

TEST_CASE_METHOD(kept_files,
                 "state directory: files of the newest two stay, those of lives before them go") {
  for (const auto* name :
       {"coordinator.1.0123.tmp", "coordinator.4.0123.tmp", "state.1.tmp", "notes.txt"})
    write_content(at / name, "");
  for (int i = 0; i < 4; ++i)
    x.write_state(x.begin_life("job", "a:1"), "job", "x");
  CHECK(names_in(at.path())
        == std::set<std::string>{"coordinator.3", "coordinator.4", "coordinator.4.0123.tmp",
                                 "job.1", "notes.txt", "state.3", "state.4"});
}

TEST_CASE_METHOD(
    kept_files,
    "state directory: numbers stay above those of states whose coordinator's file is gone") {
  write_content(at / "state.8", encode_state("job", "x"));
  CHECK(x.begin_life("job", "a:1") == 9);
}

TEST_CASE_METHOD(kept_files, "state directory: names that leat does not give are not looked at") {
  for (const auto* name : {"coordinator.", "coordinator.07", "coordinator.-9", "coordinator.9x",
                           "coordinator9", "coordinator.99999999999999999999999", "state.1 ",
                           "xcoordinator.9", "state", "state.", "coordinator.9.tmp"})
    write_content(at / name, "?");
  CHECK(x.newest_life() == 0);
  CHECK_FALSE(x.read_state());
  CHECK(x.begin_life("job", "a:1") == 1);
}

TEST_CASE_METHOD(
    kept_files,
    "state directory: one that everybody may write to is refused, its group's gets a notice") {
  std::vector<std::string> heard;
  set_notice_handler([&](const std::string& text) { heard.push_back(text); });
  for (const mode_t mode : {0777, 01777, 0702}) {
    ::chmod(at.path().c_str(), mode);
    const auto problem = thrown_by([&] { x.begin_life("job", "a:1"); });
    CHECK(problem.code() == errc::invalid_argument);
    CHECK(problem.details().file == at.path());
    CHECK(has(problem.details().got, "everybody"));
  }
  CHECK(names_in(at.path()).empty());
  CHECK(heard.empty());
  ::chmod(at.path().c_str(), 0770);
  CHECK(x.begin_life("job", "a:1") == 1);
  REQUIRE(heard.size() == 1);
  CHECK(has(heard[0], at.path()));
  ::chmod(at.path().c_str(), 0755);
  CHECK(x.begin_life("job", "a:1") == 2);
  CHECK(heard.size() == 1);
  set_notice_handler({});
}

TEST_CASE("state directory: no link leads what is written elsewhere") {
  const temporary_directory at;
  fs::create_directory(at / "state");
  file_state_directory x{at / "state"};
  write_content(at / "victim", "precious");
  for (const std::string name : {"look.tmp", "state.1.tmp"})
    fs::create_symlink("../victim", at / ("state/" + name));
  const auto life = x.begin_life("job", "a:1");
  for (const std::string name : {"look.tmp", "state.1", "state.1.tmp"})
    if (!fs::is_symlink(at / ("state/" + name)))
      fs::create_symlink("../victim", at / ("state/" + name));
  x.write_state(life, "job", "bytes");
  CHECK(x.newest_life() == life);
  CHECK(x.read_state().value().state.bytes == "bytes");
  CHECK(fs::file_size(at / "victim") == 8);
  CHECK_FALSE(fs::exists(at / "state/look.tmp"));
}

TEST_CASE_METHOD(kept_files, "state directory: no number comes after the last one") {
  write_content(at / "coordinator.18446744073709551615", "a:1\n");
  CHECK(code_of([&] { x.begin_life("job", "a:1"); }) == errc::torn_file);
}

TEST_CASE_METHOD(kept_files, "state directory: an address that is not whole is none yet") {
  x.begin_life("job", "a:1");
  for (const std::string text : {"", "b:", "b:1", "\n", "b:1\n\n", "b:1\nc"}) {
    CAPTURE(text);
    write_content(at / "coordinator.2", text);
    CHECK_FALSE(x.address_of_newest());
  }
  CHECK(x.newest_life() == 2);
  CHECK(x.begin_life("job", "c:1") == 3);
  CHECK(x.address_of_newest().value().address == "c:1");
}

TEST_CASE("state directory: it belongs to one job until it is handed over") {
  for_both([](state_directory& x) {
    x.write_state(x.begin_life("first", "a:1"), "first", "over");
    const auto problem = thrown_by([&] { x.begin_life("second", "a:1"); });
    CHECK(problem.code() == errc::invalid_argument);
    for (const auto& part : {std::string{"\"first\""}, std::string{"\"second\""}, x.name()})
      CHECK(has(problem.what(), part));
    CHECK(x.newest_life() == 1);

    CHECK(code_of([&] { x.hand_over("third", "second"); }) == errc::invalid_argument);
    x.hand_over("first", "second");
    x.hand_over("first", "second"); // as another process of the new job may do
    CHECK(code_of([&] { x.hand_over("first", "third"); }) == errc::invalid_argument);
    CHECK(x.job() == "second");
    CHECK(x.begin_life("second", "a:1") == 2);
    CHECK(x.read_state().value().state.job == "first");
    CHECK(code_of([&] { x.begin_life("first", "a:1"); }) == errc::invalid_argument);
    x.hand_over("second", "first");
    CHECK(x.begin_life("first", "a:1") == 3);
  });
}

TEST_CASE("state directory: ids and addresses of more than one line are refused") {
  for_both([](state_directory& x) {
    for (const std::string text : {"", "a\nb", "a\n", "\x7f"}) {
      CHECK(code_of([&] { x.begin_life(text, "a:1"); }) == errc::invalid_argument);
      CHECK(code_of([&] { x.begin_life("job", text); }) == errc::invalid_argument);
    }
    CHECK(code_of([&] { x.begin_life("job", std::string(5000, 'a')); }) == errc::invalid_argument);
    CHECK(x.newest_life() == 0);
  });
}

TEST_CASE("state file: whatever is changed in it is found") {
  const auto whole = encode_state("job", "bytes");
  CHECK(decode_state(whole, "f") == job_state{"job", "bytes"});
  CHECK(decode_state(encode_state("", ""), "f") == job_state{});
  for (std::size_t n = 0; n < whole.size(); ++n)
    CHECK(code_of([&] { decode_state(std::string_view{whole}.substr(0, n), "f"); })
          == errc::torn_file);
  CHECK(code_of([&] { decode_state(whole + "x", "f"); }) == errc::torn_file);
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    auto changed = whole;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ 1 << i % 8);
    CHECK(code_of([&] { decode_state(changed, "f"); }) == errc::torn_file);
  }
}

TEST_CASE_METHOD(
    kept_files,
    "state directory: a damaged newest state is an error with its name, not an older state") {
  x.write_state(x.begin_life("job", "a:1"), "job", "one");
  x.write_state(x.begin_life("job", "a:1"), "job", "two");
  write_content(at / "state.2", encode_state("job", "two").substr(0, 50));
  const auto problem = thrown_by([&] { x.read_state(); });
  CHECK(problem.code() == errc::torn_file);
  CHECK(problem.details().file == at / "state.2");
  fs::remove(at / "state.2");
  REQUIRE(::mkfifo((at / "state.2").c_str(), 0600) == 0);
  CHECK(code_of([&] { x.read_state(); }) == errc::torn_file); // and does not wait for a writer
  write_content(at / "job.2", "");
  CHECK(code_of([&] { x.begin_life("job", "a:1"); }) == errc::torn_file);
}

TEST_CASE("state directory: an address is refused") {
  CHECK_THROWS_AS(file_state_directory{"s3://b/state"}, error);
}

TEST_CASE("state directory: only its user may read it") {
  const temporary_directory at;
  file_state_directory x{at / "parent/state"};
  x.write_state(x.begin_life("job", "a:1"), "job", "x");
  const auto mode = [&](const std::string& name) {
    struct stat status {};
    REQUIRE(::stat((at / name).c_str(), &status) == 0);
    return status.st_mode & 0777;
  };
  CHECK(mode("parent/state") == 0700);
  for (const auto* name : {"job.1", "coordinator.1", "state.1"})
    CHECK(mode(std::string{"parent/state/"} + name) == 0600);
}

TEST_CASE(
    "state directory: calls that fail are errors with the file's name, and leave all as it was") {
  const temporary_directory at;
  write_content(at / "file", "");
  file_state_directory no_directory{at / "file"};
  CHECK(code_of([&] { no_directory.begin_life("job", "a:1"); }) == errc::io);
  CHECK(code_of([&] { no_directory.address_of_newest(); }) == errc::io);
  CHECK(code_of([] { file_state_directory{""}; }) == errc::invalid_argument);

  file_state_directory x{at / "state"};
  const auto life = x.begin_life("job", "a:1");
  x.write_state(life, "job", "old");
  {
    const test::file_size_limit full{1};
    const auto problem = thrown_by([&] { x.write_state(life, "job", std::string(1000, 'x')); });
    CHECK(problem.code() == errc::io);
    CHECK(has(problem.details().file, "state.1"));
    CHECK(code_of([&] { x.begin_life("job", "b:1"); }) == errc::io);
    CHECK(x.newest_life() == life); // needs no room
  }
  CHECK(x.read_state().value().state.bytes == "old");
  CHECK(x.address_of_newest().value().address == "a:1");
  CHECK(names_in(at / "state") == std::set<std::string>{"coordinator.1", "job.1", "state.1"});
  fs::remove_all(at / "state");
  CHECK(x.newest_life() == 0);
  CHECK(code_of([&] { x.write_state(life, "job", "x"); }) == errc::io);
}

TEST_CASE("state directory: threads that begin lives at once get different numbers") {
  for_both([](state_directory& x) {
    std::vector<std::vector<std::uint64_t>> lives(4);
    {
      std::vector<std::jthread> threads;
      threads.reserve(lives.size());
      for (auto& own : lives)
        threads.emplace_back([&x, &own] {
          for (int i = 0; i < 20; ++i) {
            own.push_back(x.begin_life("job", "a:1"));
            x.write_state(own.back(), "job", std::to_string(own.back()));
          }
        });
    }
    std::set<std::uint64_t> all;
    for (const auto& own : lives) {
      CHECK(std::is_sorted(own.begin(), own.end()));
      all.insert(own.begin(), own.end());
    }
    CHECK(all.size() == 80);
    CHECK(x.newest_life() == *all.rbegin());
    const auto state = x.read_state().value();
    CHECK(state.state.bytes == std::to_string(state.life));
  });
}

/// A process of its own that does something until it is killed.
class busy_process {
public:
  explicit busy_process(const std::function<void()>& step) : pid_(::fork()) {
    if (pid_ == 0)
      for (;;)
        try {
          step();
        } catch (...) {
          ::_exit(3);
        }
  }
  busy_process(const busy_process&) = delete;
  busy_process& operator=(const busy_process&) = delete;
  /// True if it was still at work.
  bool kill() {
    int status = 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    return WIFSIGNALED(status);
  }

private:
  pid_t pid_;
};

TEST_CASE("state directory: processes that are killed anywhere leave a directory that the next one "
          "can use") {
  const temporary_directory at;
  std::mt19937 random{Catch::rngSeed()};
  pipe_pair told;
  std::set<std::uint64_t> all;
  for (int round = 0; round < 30; ++round) {
    const auto step = [&] {
      file_state_directory x{at / "state"};
      const auto life = x.begin_life("job", "a:1");
      [[maybe_unused]] const auto ignored = ::write(told.in(), &life, sizeof life);
      x.write_state(life, "job", std::string(10'000, 'x') + std::to_string(life));
    };
    busy_process one{step};
    busy_process other{step};
    // Each life is reported once; after a few of them the processes are at random places.
    for (auto lives = 1 + random() % 8; lives > 0; --lives) {
      std::uint64_t life = 0;
      REQUIRE(::read(told.out(), &life, sizeof life) == sizeof life);
      REQUIRE(all.insert(life).second);
    }
    for (auto i = random() % 20; i > 0; --i)
      std::this_thread::yield();
    CHECK(one.kill());
    CHECK(other.kill());
    file_state_directory next{at / "state"};
    const auto before = next.newest_life();
    CHECK(before >= *all.rbegin());
    REQUIRE(next.address_of_newest());
    if (const auto state = next.read_state()) {
      CHECK(state->life <= before);
      CHECK(state->state.bytes == std::string(10'000, 'x') + std::to_string(state->life));
    }
    const auto life = next.begin_life("job", "next:1");
    CHECK(life > before);
    CHECK(all.insert(life).second);
    next.write_state(life, "job", std::string(10'000, 'x') + std::to_string(life));
    CHECK(next.read_state().value().life == life);
  }
  file_state_directory x{at / "state"};
  for (int i = 0; i < 3; ++i)
    x.write_state(x.begin_life("job", "a:1"), "job", "x");
  std::uint64_t of_lives = 0;
  for (const auto& name : names_in(at / "state"))
    of_lives += name.starts_with("coordinator.") || name.starts_with("state.") ? 1U : 0U;
  CHECK(of_lives == 4); // leftovers of the killed processes are gone
}

TEST_CASE("state directory: of several jobs that take a new directory, one gets it") {
  for (int round = 0; round < 10; ++round)
    for_both([](state_directory& x) {
      std::vector<std::optional<errc>> results(4);
      {
        std::vector<std::jthread> threads;
        threads.reserve(results.size());
        for (std::size_t i = 0; i < results.size(); ++i)
          threads.emplace_back([&, i] {
            results[i] = code_of([&] { x.begin_life("job " + std::to_string(i), "a:1"); });
          });
      }
      CHECK(std::count(results.begin(), results.end(), std::nullopt) == 1);
      CHECK(std::count(results.begin(), results.end(), errc::invalid_argument) == 3);
    });
}

TEST_CASE("state directory: whoever looked long ago does not get a number again") {
  // Its first three listings are outdated; the file of the number has been removed since.
  struct late_directory : memory_state_directory {
    std::vector<std::string> list() override {
      auto names = memory_state_directory::list();
      if (is_late && looks++ < 3)
        std::erase_if(names, [](const auto& x) { return x.starts_with("coordinator."); });
      return names;
    }
    bool is_late = false;
    int looks = 0;
  } x;
  for (int i = 0; i < 5; ++i)
    x.begin_life("job", "a:1");
  x.is_late = true;
  CHECK(x.begin_life("job", "a:1") == 6);
}

TEST_CASE("state directory: a life that begins while the directory is handed over is none") {
  struct handed_over : memory_state_directory {
    bool create(const std::string& file, const std::string& text) override {
      if (file.starts_with("coordinator.2"))
        hand_over("job", "other");
      return memory_state_directory::create(file, text);
    }
  } x;
  x.begin_life("job", "a:1");
  CHECK(code_of([&] { x.begin_life("job", "a:1"); }) == errc::invalid_argument);
  CHECK(x.newest_life() == 1);
  CHECK(x.begin_life("other", "a:1") == 2);
}

TEST_CASE("durable file: a file is made by one only, and is whole") {
  const temporary_directory at;
  CHECK(create_durably(at / "x", "one", 0600));
  CHECK_FALSE(create_durably(at / "x", "two", 0600));
  CHECK(test::content_of(at / "x") == "one");
  CHECK(names_in(at.path()) == std::set<std::string>{"x"});
  CHECK(code_of([&] { create_durably(at / "none/x", "one"); }) == errc::io);
}

} // namespace
} // namespace leat::state_directory_test
