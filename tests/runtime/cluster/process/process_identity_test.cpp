#include "runtime/cluster/boot_clock.hpp"
#include "runtime/cluster/process/process_identity.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/test.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <type_traits>

namespace leat::process_identity_test {
namespace {

using test::pipe_pair;

/// A child of this process, which reports its identity and then obeys until it is killed.
class child {
public:
  explicit child(const std::function<void()>& then = [] {}) {
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto self = this_process();
      [[maybe_unused]] const auto ignored = ::write(told_.in(), &self, sizeof self);
      then();
      for (;;)
        ::pause();
    }
    REQUIRE(::read(told_.out(), &identity, sizeof identity) == sizeof identity);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    kill();
    reap();
  }

  void kill() const {
    if (pid_ > 0)
      ::kill(pid_, SIGKILL);
  }
  /// Returns once the process has ended, and leaves it a zombie.
  void wait_for_end() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void reap() {
    if (pid_ > 0)
      ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  process_stat stat() const {
    return parse_process_stat(read_file("/proc/" + std::to_string(pid_) + "/stat")).value();
  }

  process_identity identity;

private:
  pipe_pair told_;
  pid_t pid_ = -1;
};

TEST_CASE("process stat: names with parentheses, spaces and newlines") {
  const std::string rest = " S 1 7 7 34816 -1 4194304 1 2 3 4 5 6 7 8 20 -5 3 0 12345 99 1 2 3\n";
  for (const std::string name :
       {"leat", "a b", ") Z 1", "a) R (b", "((", "", "a\nb", ") Z 1 1 1 ) "}) {
    CAPTURE(name);
    const auto x = parse_process_stat("42 (" + name + ")" + rest);
    REQUIRE(x);
    CHECK(x->state == 'S');
    CHECK(x->threads == 3);
    CHECK(x->start_ticks == 12345);
  }
}

TEST_CASE("process stat: cut short or damaged text is nothing") {
  const std::string whole = "42 (x) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 12345 99";
  REQUIRE(parse_process_stat(whole));
  const auto last_needed = whole.rfind(" 99");
  for (std::size_t n = 0; n <= last_needed; ++n)
    CHECK_FALSE(parse_process_stat(whole.substr(0, n)));
  for (const auto* text : {"42 (x) SS 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 12345 99",
                           "42 (x) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 -12345 99",
                           "42 (x) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 x 0 12345 99",
                           "42 (x) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 99999999999999999999 9"})
    CHECK_FALSE(parse_process_stat(text));
}

TEST_CASE("process identity: this process is known, the same each time, and alive") {
  const auto self = this_process();
  CHECK(self == this_process());
  CHECK(self.host != hash128{});
  CHECK(self.boot != hash128{});
  CHECK(self.pid_namespace != 0);
  CHECK(self.pid == static_cast<std::uint64_t>(::getpid()));
  CHECK(self.start_ticks != 0);
  CHECK_FALSE(is_known_dead(self));
}

TEST_CASE(
    "process identity: another process is dead from its end on, before and after it is reaped") {
  child other;
  CHECK(other.identity != this_process());
  CHECK(other.identity.host == this_process().host);
  CHECK(other.identity.boot == this_process().boot);
  CHECK_FALSE(is_known_dead(other.identity));
  ::kill(static_cast<pid_t>(other.identity.pid), SIGSTOP);
  CHECK_FALSE(is_known_dead(other.identity));
  other.kill();
  other.wait_for_end();
  CHECK(is_known_dead(other.identity));
  other.reap();
  CHECK(is_known_dead(other.identity));
}

TEST_CASE("process identity: a name that looks like the rest of a zombie's line changes nothing") {
  const pipe_pair named;
  const child other{[&] {
    ::prctl(PR_SET_NAME, "x) Z 1 1 1 1");
    [[maybe_unused]] const auto ignored = ::write(named.in(), "x", 1);
  }};
  char is_named = 0;
  REQUIRE(::read(named.out(), &is_named, 1) == 1);
  CHECK_FALSE(is_known_dead(other.identity));
}

TEST_CASE("process identity: a process whose first thread has ended lives on in the others") {
  const child other{[] {
    std::thread{[] { ::pause(); }}.detach();
    ::syscall(SYS_exit, 0); // ends only this thread
  }};
  while (other.stat().state != 'Z')
    ::sched_yield();
  CHECK(other.stat().threads == 2);
  CHECK_FALSE(is_known_dead(other.identity));
  other.kill();
  other.wait_for_end();
  CHECK(is_known_dead(other.identity));
}

TEST_CASE("process identity: a pid that another process has now belongs to a dead one") {
  auto former = this_process();
  former.start_ticks -= 1;
  CHECK(is_known_dead(former));
  former.start_ticks += 2;
  CHECK(is_known_dead(former));
  former.start_ticks = 0; // not known
  CHECK_FALSE(is_known_dead(former));
}

/// A process that has certainly ended.
process_identity dead_process() {
  child x;
  x.kill();
  x.reap();
  return x.identity;
}

TEST_CASE("process identity: of other machines, boots and containers nothing is known") {
  const auto dead = dead_process();
  REQUIRE(is_known_dead(dead));
  const auto is_unsure = [&](const std::function<void(process_identity&)>& change) {
    auto x = dead;
    change(x);
    return !is_known_dead(x);
  };
  CHECK(is_unsure([](auto& x) { x.host.low += 1; }));
  CHECK(is_unsure([](auto& x) { x.boot.low += 1; }));
  CHECK(is_unsure([](auto& x) { x.pid_namespace += 1; }));
  CHECK(is_unsure([](auto& x) { x.host = {}; }));
  CHECK(is_unsure([](auto& x) { x.boot = {}; }));
  CHECK(is_unsure([](auto& x) { x.pid_namespace = 0; }));
  CHECK(is_unsure([](auto& x) { x.pid = 0; }));
  CHECK(is_unsure([](auto& x) { x.pid += std::uint64_t{1} << 32; }));
  CHECK(is_unsure([](auto& x) { x.pid = UINT64_MAX; }));
  CHECK(is_unsure([](auto& x) { x = {}; }));
}

TEST_CASE("process identity: what a look proves") {
  using presence = pid_look::presence;
  const auto self = this_process();
  const auto proves = [&](presence found, std::optional<process_stat> stat) {
    return proves_death(self, self, {found, stat});
  };
  const auto ticks = self.start_ticks;
  CHECK(proves(presence::absent, {}));
  CHECK_FALSE(proves(presence::unknown, {}));
  CHECK_FALSE(proves(presence::unknown, process_stat{'Z', 1, ticks}));
  CHECK_FALSE(proves(presence::present, {})); // hidepid
  for (const char state : {'R', 'S', 'D', 'T', 't', 'I'})
    CHECK_FALSE(proves(presence::present, process_stat{state, 1, ticks}));
  CHECK(proves(presence::present, process_stat{'Z', 1, ticks}));
  CHECK(proves(presence::present, process_stat{'X', 0, ticks}));
  CHECK_FALSE(proves(presence::present, process_stat{'Z', 2, ticks}));
  CHECK(proves(presence::present, process_stat{'R', 1, ticks + 1}));

  // A process with an unknown place proves nothing, and ticks compare only in one time namespace.
  auto lost = self;
  lost.boot = {};
  CHECK_FALSE(proves_death(lost, lost, {presence::absent, {}}));
  auto elsewhere = self;
  elsewhere.time_namespace += 1;
  CHECK_FALSE(proves_death(self, elsewhere, {presence::present, process_stat{'R', 1, ticks + 1}}));
  CHECK(proves_death(self, elsewhere, {presence::absent, {}}));
}

// -- containers

struct container {
  /// Mounts a /proc of the container's own, with these options; none: the outer one remains.
  std::optional<std::string> proc = std::string{};
};

/// Runs a function as pid 1 of a new pid namespace. Nothing where the system does not allow it.
template <class Result>
std::optional<Result> inside(const container& kind, const std::function<Result()>& run) {
  static_assert(std::is_trivially_copyable_v<Result>);
  pipe_pair answer;
  const auto outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0
        && ::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0)
      ::_exit(1);
    if (::fork() != 0) {
      ::wait(nullptr);
      ::_exit(0);
    }
    const bool is_set_up =
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
        && (!kind.proc || ::mount("proc", "/proc", "proc", 0, kind.proc->c_str()) == 0);
    if (is_set_up) {
      const auto result = run();
      [[maybe_unused]] const auto ignored = ::write(answer.in(), &result, sizeof result);
    }
    ::_exit(0);
  }
  answer.close_in();
  Result result;
  const bool is_there = ::read(answer.out(), &result, sizeof result) == sizeof result;
  ::waitpid(outer, nullptr, 0);
  return is_there ? std::optional{result} : std::nullopt;
}

struct verdicts {
  process_identity self;
  bool first = false;
  bool second = false;
  bool third = false;
};

constexpr auto not_allowed = "skipped: no pid namespaces, or no mount of /proc, are allowed here";

TEST_CASE("process identity: of a process in a container nothing is known outside, nor in another "
          "container") {
  const auto one = inside<process_identity>({}, this_process);
  if (!one) {
    WARN(not_allowed);
    return;
  }
  CHECK(one->pid == 1);
  CHECK(one->host == this_process().host);
  CHECK(one->pid_namespace != this_process().pid_namespace);
  CHECK_FALSE(is_known_dead(*one)); // it is dead, but only the container's own processes could know
  const child here;
  const auto dead = dead_process();
  const auto two = inside<verdicts>({}, [&] {
    return verdicts{this_process(), is_known_dead(here.identity), is_known_dead(dead),
                    is_known_dead(this_process())};
  });
  REQUIRE(two);
  CHECK(two->self.pid == 1);
  CHECK_FALSE(two->first);
  CHECK_FALSE(two->second);
  CHECK_FALSE(two->third);
}

TEST_CASE("process identity: within a container processes know of one another") {
  for (const bool has_own_proc : {true, false}) {
    CAPTURE(has_own_proc);
    // With the outer /proc, /proc/2 is another process than the container's pid 2.
    const auto seen = inside<verdicts>(has_own_proc ? container{} : container{std::nullopt}, [] {
      child other;
      verdicts x;
      x.self = other.identity;
      x.first = is_known_dead(other.identity);
      other.kill();
      other.wait_for_end();
      x.second = is_known_dead(other.identity);
      other.reap();
      x.third = is_known_dead(other.identity);
      return x;
    });
    if (!seen) {
      WARN(not_allowed);
      return;
    }
    CHECK(seen->self.pid == 2);
    CHECK_FALSE(seen->first);
    CHECK(seen->second == has_own_proc); // only /proc shows that it is a zombie
    CHECK(seen->third);
  }
}

/// As user nobody in a container: whether a process of root is known to be dead while it lives and
/// once it is a zombie, and whether /proc hides it.
std::optional<verdicts> seen_by_nobody(const std::string& proc) {
  return inside<verdicts>({proc}, [] {
    child other;
    verdicts x;
    x.self = other.identity;
    const auto become_nobody = [] {
      if (::setresgid(65534, 65534, 0) != 0 || ::setresuid(65534, 65534, 0) != 0)
        ::_exit(1);
    };
    const auto become_root = [] {
      if (::setresuid(0, 0, 0) != 0)
        ::_exit(1);
    };
    if (::setgroups(0, nullptr) != 0) // /proc hides nothing from root's group
      ::_exit(1);
    become_nobody();
    x.first = is_known_dead(other.identity);
    x.third = ::access("/proc/2", F_OK) != 0;
    become_root();
    other.kill();
    other.wait_for_end();
    become_nobody();
    x.second = is_known_dead(other.identity);
    become_root();
    return x;
  });
}

TEST_CASE("process identity: of another user's process as much is known as /proc shows") {
  for (const bool is_hidden : {true, false}) {
    const auto seen = seen_by_nobody(is_hidden ? "hidepid=2" : "hidepid=0");
    if (!seen) {
      WARN("skipped: no root here, or no mount of /proc");
      return;
    }
    CHECK(seen->third == is_hidden);
    CHECK_FALSE(seen->first);
    CHECK(seen->second == !is_hidden);
  }
}

TEST_CASE("boot clock: it never falls behind the clock that stops with the machine") {
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    ::timespec running{};
    ::clock_gettime(CLOCK_MONOTONIC, &running);
    const auto now = boot_clock_ns();
    REQUIRE(now >= last);
    REQUIRE(now >= static_cast<std::uint64_t>(running.tv_sec) * 1'000'000'000
                       + static_cast<std::uint64_t>(running.tv_nsec));
    last = now;
  }
}

} // namespace
} // namespace leat::process_identity_test
