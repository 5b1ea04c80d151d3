#include "runtime/sources/live/once_input.hpp"
#include "runtime/storage/descriptor_budget.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_status.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/open_names.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <thread>

namespace leat::descriptor_budget_test {
namespace {

using namespace leat::test;

std::atomic<std::uint64_t> limit = 0;

std::uint64_t limit_now() noexcept {
  return limit;
}

/// Files "a" to "l" in a budget of a process that may have `limit` descriptors.
class kept_letters {
public:
  explicit kept_letters(std::uint64_t of_process) {
    limit = of_process;
    for (const char x : letters)
      tar_writer::write(path(x), {&x, 1});
  }

  std::string path(char letter) const { return at_ / std::string{letter}; }
  kept_file& file(char letter) { return files_[letters.find(letter)]; }
  /// What a reader does.
  void open(descriptor_budget::reading& right, char letter) {
    if (right.is_open())
      return;
    const descriptor_budget::place room{budget};
    right.keep(file_descriptor::open(path(letter)));
  }
  void read(const std::string& all) {
    for (const char x : all) {
      descriptor_budget::reading right{budget, file(x)};
      open(right, x);
      char got = 0;
      REQUIRE(::pread(right.descriptor().get(), &got, 1, 0) == 1);
      REQUIRE(got == x);
    }
  }
  std::string open() const {
    std::string all;
    for (const auto& x : open_names(at_.path()))
      all += x;
    return all;
  }

  static constexpr std::string_view letters = "abcdefghijkl";
  descriptor_budget budget{limit_now};

private:
  temporary_directory at_;
  std::array<kept_file, letters.size()> files_;
};

TEST_CASE("descriptor budget: half of what the process may have, at most 32,768") {
  const kept_letters x{1024};
  CHECK(x.budget.places() == 512);
  limit = 5000; // the program has raised it
  CHECK(x.budget.places() == 2500);
  limit = 0;
  CHECK(x.budget.places() == 4);
  limit = RLIM_INFINITY;
  CHECK(x.budget.places() == 32'768);
}

TEST_CASE("descriptor budget: the file that was not read for longest is closed for the next") {
  kept_letters x{8};
  x.read("abcd");
  CHECK(x.open() == "abcd");
  x.read("ace");
  CHECK(x.open() == "acde");
  x.read("f");
  CHECK(x.open() == "acef");
  x.read("b"); // and it can be opened again
  CHECK(x.open().size() == 4);
  CHECK(x.open().find('b') != std::string::npos);
}

TEST_CASE("descriptor budget: a limit that is raised or lowered holds from the next opening on") {
  kept_letters x{8};
  x.read("abcdef");
  CHECK(x.open() == "cdef");
  limit = 16;
  x.read("ghij");
  CHECK(x.open() == "cdefghij");
  limit = 8;
  x.read("cdefghij");
  CHECK(x.open() == "cdefghij");
  x.read("k");
  CHECK(x.open().size() == 4);
}

TEST_CASE("descriptor budget: a file that is being read stays open, and nobody waits for it") {
  kept_letters x{8};
  std::deque<descriptor_budget::reading> all;
  for (const char letter : std::string{"abcdef"})
    x.open(all.emplace_back(x.budget, x.file(letter)), letter);
  CHECK(x.open() == "abcdef");
  all.pop_front();
  x.read("g");
  CHECK(x.open() == "bcdefg"); // the only one that was not read
  all.clear();
  x.read("h");
  CHECK(x.open().size() == 4);
}

TEST_CASE("descriptor budget: more readers at one time than are told apart close nothing") {
  kept_letters x{8};
  x.read("abcd");
  std::deque<descriptor_budget::reading> all;
  for (int i = 0; i < 100; ++i)
    CHECK(all.emplace_back(x.budget, x.file('a')).is_open());
  x.read("e");
  CHECK(x.open() == "abcde");
  all.clear();
  x.read("f");
  CHECK(x.open().size() == 4);
}

TEST_CASE("descriptor budget: what has to stay open takes up to three quarters of the places") {
  kept_letters x{16};
  x.read("abcdefgh");
  CHECK(x.open() == "abcdefgh");
  std::deque<descriptor_budget::place> pipes;
  for (int i = 0; i < 3; ++i)
    pipes.emplace_back(x.budget);
  CHECK(x.open() == "defgh");
  for (int i = 0; i < 9; ++i)
    pipes.emplace_back(x.budget);
  CHECK(x.open() == "gh");
  auto moved = std::move(pipes.back());
  pipes.clear();
  x.read("abcdefghi");
  CHECK(x.open().size() == 7);
}

TEST_CASE("descriptor budget: a file that is given up is closed, though others are read") {
  kept_letters x{8};
  x.read("ab");
  const descriptor_budget::reading other{x.budget, x.file('a')};
  x.budget.close(x.file('b'));
  x.budget.close(x.file('c')); // was not open
  CHECK(x.open() == "a");
}

TEST_CASE("descriptor budget: no file is closed under a reader that has just begun") {
  kept_letters x{8};
  std::atomic<bool> is_over = false;
  int wrong = 0;
  std::atomic<int> found_open = 0;
  std::thread reader{[&] {
    for (unsigned i = 0; !is_over.load(std::memory_order_relaxed); ++i) {
      {
        const descriptor_budget::reading right{x.budget, x.file('a')};
        if (right.is_open()) {
          ++found_open;
          wrong += ::fcntl(right.descriptor().get(), F_GETFD) < 0 ? 1 : 0;
        }
      }
      for (unsigned k = i % 61; k > 0; --k)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }};
  int closed = 0;
  // The thread may begin late, and may be stopped in the middle of its reading for all of the
  // 5,000.
  for (int i = 0; i < 5'000 || found_open == 0 || closed == 0; ++i) {
    x.read("a");
    closed += x.budget.close_half() ? 1 : 0;
  }
  is_over = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("descriptor budget: half of the files are closed where the system has no more") {
  kept_letters x{8};
  CHECK_FALSE(x.budget.close_half());
  x.read("abcd");
  x.read("a");
  CHECK(x.budget.close_half());
  CHECK(x.open() == "ad");
  CHECK(x.budget.close_half());
  CHECK(x.budget.close_half());
  CHECK(x.open().empty());
  CHECK_FALSE(x.budget.close_half());
}

/// Takes all descriptors that this process may have, after limiting it to `most` of them.
void take_all(std::deque<file_descriptor>& into, rlim_t most) {
  const rlimit less{most, most};
  ::setrlimit(RLIMIT_NOFILE, &less);
  for (int fd = 0; (fd = ::dup(STDERR_FILENO)) >= 0;)
    into.emplace_back(fd);
}

TEST_CASE("descriptors: where there are none left, files that are only kept make room, once") {
  temporary_directory at;
  tar_writer::write(at / "x", "x");
  const auto status = status_of_child([&] {
    kept_file kept;
    descriptor_budget::reading{process_descriptors(), kept}.keep(file_descriptor::open(at / "x"));
    std::deque<file_descriptor> others;
    take_all(others, 64);
    int calls = 0;
    const auto open = [&] {
      ++calls;
      return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    };
    const auto file = opened(open);
    return file && !opened(open) && errno == EMFILE && calls == 3 ? 0 : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("descriptors: where there are none left, the error names the limit") {
  const auto status = status_of_child([] {
    // A sanitizer needs a pipe to look at the first error, and none for later ones.
    (void)code_of([] { (void)file_descriptor::open("/proc/none"); });
    std::deque<file_descriptor> others;
    take_all(others, 64);
    const auto x = problem_of([] { file_descriptor::open("/proc/self/status"); });
    return x && x->code() == errc::no_resources && x->details().file == "/proc/self/status"
                   && x->details().got
                          == "Too many open files: this process may have 64 (ulimit -n)"
                   && x->details().needed
                          == "a readable file, and a higher limit: the hard one, too, is 64"
               ? 0
               : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("descriptors: no file of ours becomes standard input, output or error") {
  const auto status = status_of_child([] {
    for (const int closed : {0, 1, 2})
      ::close(closed);
    const auto a = file_descriptor::open("/proc/self/exe");
    const file_descriptor b{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    const file_descriptor c{::dup(a.get())};
    for (const auto* x : {&a, &b, &c})
      if (x->get() <= STDERR_FILENO || (::fcntl(x->get(), F_GETFD) & FD_CLOEXEC) == 0)
        return 1;
    for (const int closed : {0, 1, 2})
      if (::fcntl(closed, F_GETFD) >= 0)
        return 2; // what was moved is closed where it was
    return 0;
  });
  CHECK(status == 0);
}

TEST_CASE("descriptors: standard input that is closed, or not for reading, is an error at once") {
  for (const bool is_open : {false, true}) {
    CAPTURE(is_open);
    const auto status = status_of_child([&] {
      ::close(STDIN_FILENO);
      if (is_open)
        (void)::open("/dev/null", O_WRONLY);
      return code_of([] { (void)standard_input_lines()->begin(); }) == errc::io ? 0 : 1;
    });
    CHECK(status == 0);
  }
}

} // namespace
} // namespace leat::descriptor_budget_test
