#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/once.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

namespace leat::once_kill_test {
namespace {

constexpr int kills = 50;
constexpr journal_options small_files{.file_bytes = 100'000};

/// In memory that forked processes share.
struct shared_state {
  std::atomic<bool> stop = false;
  /// Total number of records that the writer gave, set at its end.
  std::atomic<std::uint64_t> given = 0;
  /// Records that readers have seen, from 0 on.
  std::atomic<std::uint64_t> seen = 0;
};

class shared_memory {
public:
  shared_memory()
      : state_(new (::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) shared_state) {}
  ~shared_memory() { ::munmap(state_, sizeof(shared_state)); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  shared_state* operator->() const { return state_; }
  shared_state& operator*() const { return *state_; }

private:
  shared_state* state_;
};

/// Runs a function in a process of its own, which dies with this one.
template <class F>
pid_t forked(F f) {
  const auto pid = ::fork();
  if (pid == 0) {
    f();
    ::_exit(0);
  }
  return pid;
}

/// Makes most attempts progress by more than one record, also on a slow machine.
void wait_for_progress(int attempt, pid_t reader, const shared_state& shared,
                       std::uint64_t before) {
  while (attempt % 5 != 0 && shared.seen < before + 2) {
    REQUIRE(::waitpid(reader, nullptr, WNOHANG) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

void kill_and_wait(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

std::string line(std::uint64_t number) {
  auto text = std::to_string(number) + ':';
  text.append(number % 1000 == 0 ? 20'000 : number * 7919 % 300,
              static_cast<char>('a' + number % 26));
  return text;
}

/// Writes lines in pieces that are cut anywhere; the last line has no newline.
void write_lines(int to, shared_state& shared, std::uint32_t seed) {
  std::mt19937 random{seed};
  std::string text;
  std::uint64_t number = 0;
  for (; !shared.stop; ++number) {
    text += (number == 0 ? "" : "\n") + line(number);
    const auto size = std::min<std::size_t>(text.size(), random() % 5000);
    if (::write(to, text.data(), size) != static_cast<ssize_t>(size))
      ::_exit(1);
    text.erase(0, size);
  }
  for (std::string_view rest = text; !rest.empty();) {
    const auto n = ::write(to, rest.data(), rest.size());
    if (n <= 0)
      ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  shared.given = number;
}

const std::atomic<bool> never{false};

/// Reads all records, one after the other.
void read_all(const pipeline& data, shared_state& shared) {
  const auto feed = data.root().feed->get();
  for (std::uint64_t i = 0;; ++i) {
    feed->wait(i, never);
    if (feed->peek(i) != live_source::state::ready)
      return;
    if (i >= shared.seen)
      shared.seen = i + 1;
  }
}

/// Kills reader after reader. None has seen a record that is not in the journal.
template <class Data>
void kill_readers(Data data, shared_memory& shared, std::mt19937& random,
                  const std::string& journal_directory, record_format format) {
  for (int i = 0; i < kills; ++i) {
    CAPTURE(i);
    const auto before = shared->seen.load();
    const auto reader = forked([&] { read_all(data(), *shared); });
    wait_for_progress(i, reader, *shared, before);
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 10'000});
    kill_and_wait(reader);
    REQUIRE((journal{journal_directory, {.format = format}}.next()) >= shared->seen);
  }
  REQUIRE(shared->seen > kills);
}

TEST_CASE("kill: standard input with a journal loses, repeats and moves no line") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  test::temporary_directory at;
  shared_memory shared;
  test::pipe_pair pipe;
  const auto writer = forked([&] { write_lines(pipe.in(), *shared, seed); });
  pipe.close_in();
  const test::standard_input_from input{pipe.out()};
  const auto data = [&] { return standard_input().journal(at.path(), small_files); };
  kill_readers(data, shared, random, at / "stdin-0", record_format::lines);
  const auto before_end = shared->seen.load();
  shared->stop = true;
  read_all(data(), *shared);
  int status = -1;
  ::waitpid(writer, &status, 0);
  REQUIRE(status == 0);
  REQUIRE(shared->given > before_end);
  const auto feed = data().root().feed->get();
  std::uint64_t number = 0;
  for (; feed->peek(number) == live_source::state::ready; ++number) {
    sample x;
    feed->read(number, x);
    if (x.text("text") != line(number))
      FAIL("record " << number << " is " << x.text("text").substr(0, 20));
  }
  REQUIRE(number == shared->given);
}

TEST_CASE("kill: of a function's samples a kill loses at most the one in its hands") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  test::temporary_directory at;
  shared_memory shared;
  test::pipe_pair pipe;
  const auto writer = forked([&] {
    std::uint64_t number = 0;
    for (; !shared->stop; ++number)
      if (::write(pipe.in(), &number, sizeof number) != sizeof number)
        ::_exit(1);
    shared->given = number;
  });
  pipe.close_in();
  const auto data = [&] {
    return once("queue",
                [&](sample& into) {
                  std::uint64_t number = 0;
                  if (::read(pipe.out(), &number, sizeof number) != sizeof number)
                    return false;
                  into.set("number", number);
                  return true;
                })
        .journal(at.path(), small_files);
  };
  kill_readers(data, shared, random, at / "queue-0", record_format::frames);
  shared->stop = true;
  read_all(data(), *shared);
  ::waitpid(writer, nullptr, 0);

  const auto feed = data().root().feed->get();
  std::uint64_t lost = 0;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; feed->peek(i) == live_source::state::ready; ++i) {
    sample x;
    feed->read(i, x);
    const auto number = x.get<std::uint64_t>("number");
    REQUIRE(number >= next); // no record twice, and in order
    lost += number - next;
    next = number + 1;
  }
  lost += shared->given - next;
  CAPTURE(lost);
  REQUIRE(lost <= kills);
}

} // namespace
} // namespace leat::once_kill_test
