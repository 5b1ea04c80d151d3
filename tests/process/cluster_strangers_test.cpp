#include "tests/support/attacker.hpp"
#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/sanitized.hpp"

// Attackers at a coordinator's port: noise, changed and replayed words, wrong certificates, floods,
// connections that say nothing or little, members that break the rules. The job does not notice;
// the coordinator stays as large as it was, admits no stranger, and cuts all of them off in time.
//
// LEAT_TEST_STRANGERS: for how many seconds, without and with certificates each (10; 4 with
//                      sanitizers).
// LEAT_TEST_SEED:      seed of all that they do; what comes of it depends on the machine, too.
namespace leat::test::cluster_strangers_test {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A busy machine may run nobody for a while; and what waits in the kernel is not accepted yet.
constexpr milliseconds cut_off_within{5000 + (sanitized ? 10'000 : 3000)};

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const auto* text = std::getenv(variable);
  return text ? std::stoull(text) : otherwise;
}

std::size_t kilobytes_of(pid_t process) {
  std::ifstream in{"/proc/" + std::to_string(process) + "/statm"};
  std::size_t pages = 0;
  in >> pages >> pages;
  return 4 * pages;
}

std::size_t descriptors_of(pid_t process) {
  std::error_code gone;
  const std::filesystem::directory_iterator all{"/proc/" + std::to_string(process) + "/fd", gone};
  return gone ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// How long a rank's log has stood still.
class pauses {
public:
  explicit pauses(std::string log) : log_(std::move(log)) {}

  void look() {
    std::error_code none;
    const auto size = std::filesystem::file_size(log_, none);
    const auto now = clock::now();
    if (size == std::exchange(size_, size))
      return; // what does not end is the job's own end
    longest_ = std::max(longest_, now - since_);
    since_ = now;
  }
  long long longest() const { return std::chrono::duration_cast<milliseconds>(longest_).count(); }

private:
  std::string log_;
  std::uintmax_t size_ = 0;
  clock::time_point since_ = clock::now();
  clock::duration longest_{};
};

/// Some attackers, each with a thread.
class attackers {
public:
  attackers(attacked_port& on, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 3; ++i)
      threads_.emplace_back(
          [&on, seed, i](const std::stop_token& stop) { run(on, seed + i, stop); });
  }

private:
  static void run(attacked_port& on, std::uint64_t seed, const std::stop_token& stop) {
    attacker one{on, seed};
    std::mt19937_64 pause{seed};
    while (!stop.stop_requested()) {
      if (one.number_open() < 600)
        one.attack();
      one.look();
      std::this_thread::sleep_for(milliseconds{pause() % 5}); // the job runs on the same machine
    }
    while (one.number_open() > 0) {
      one.look();
      std::this_thread::sleep_for(milliseconds{5});
    }
  }

  std::vector<std::jthread> threads_;
};

/// A job of two ranks, one of them through a link, and what an observer sees of it.
class attacked_job {
public:
  attacked_job(std::uint64_t seconds, std::uint64_t seed, const link_site* site)
      : job_("count(1000000).shuffle(seed=5).batch(12, lanes=12)",
             {"--steps", std::to_string(250 * seconds)}, 2, {"--step-time", "5"}),
        sessions_(seed), site_(site),
        lead_(job_.coordinator("lead", certificate({link_role::coordinator, link_role::rank})
                                           + words{"--bind", "127.0.0.1:0"})),
        link_(lead_.port(), sessions_.touch()), port_(lead_.port(), site, sessions_),
        quiet_(250 * seconds) {
    port_.patience = cut_off_within;
    const auto own = certificate({link_role::coordinator, link_role::rank});
    job_.start_process(0, job_.seat(0, lead_) + own);
    job_.start_process(1,
                       words{"--cluster", link_.address(), "--beat", "100"} + job_.seat(1) + own);
    job_.wait_for_batches(0, 5);
    job_.wait_for_batches(1, 5);
  }

  void run(std::uint64_t seed) {
    const auto size = kilobytes_of(lead_.pid());
    auto largest = size;
    const auto descriptors = descriptors_of(lead_.pid());
    {
      pauses first{job_.log_of(0)};
      pauses second{job_.log_of(1)};
      for (const auto end = clock::now() + quiet_; clock::now() < end;) {
        std::this_thread::sleep_for(milliseconds{10});
        first.look();
        second.look();
      }
      quiet_pause_ = std::max(first.longest(), second.longest());
    }
    {
      const attackers all{port_, seed};
      pauses first{job_.log_of(0)};
      pauses second{job_.log_of(1)};
      for (std::uint64_t i = 0; job_.rank(0).is_running() && job_.rank(1).is_running(); ++i) {
        std::this_thread::sleep_for(milliseconds{10});
        largest = std::max(largest, kilobytes_of(lead_.pid()));
        first.look();
        second.look();
        if (site_ && i % 400 == 100)
          sessions_.flip(20); // what is on its way does not arrive as it was
        if (i % 400 == 200)
          sessions_.flip(0);
        if (i % 200 == 50)
          see_it_run();
      }
      port_.is_over = true;
      pause_ = std::max(first.longest(), second.longest());
    }
    WARN(port_.attacks << " attacks, " << port_.members << " of them by members; longest pause "
                       << pause_ << " ms, before them " << quiet_pause_ << " ms; coordinator "
                       << size << " KB, at most " << largest << " KB; seen " << seen_
                       << " times in " << looks_ << " looks");
    CAPTURE(lead_.errors());
    CHECK(port_.strangers_admitted == 0);
    CHECK(port_.not_cut_off == "");
    CHECK(port_.attacks > 100);
    CHECK(seen_ > 0);
    if (!sanitized)
      CHECK(largest < size + 20'000);
    CHECK(descriptors_of(lead_.pid()) <= descriptors); // 0 if it has ended
    CHECK_FALSE(contains(lead_.errors(), "lost"));
    job_.check_end();
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      const auto attempts = attempts_of(job_.log_of(rank));
      CHECK(attempts.size() == 1); // nobody lost its seat
      CHECK(attempts.front().header.at("term") == 1);
    }
    CHECK(lead_.end() == 0);
  }

private:
  words certificate(const std::vector<link_role>& roles) const {
    return site_ ? words{"--certs", site_->issue(roles.size() == 1 ? "look" : "all", roles)}
                 : words{};
  }

  /// Whoever may look gets in beside all of them, and sees the two ranks and nobody else in a seat.
  void see_it_run() {
    ++looks_;
    const auto found =
        job_.bench.leat(words{"cluster", "status", "--join", lead_.address(), "--json"}
                            + certificate({link_role::observer}),
                        "LEAT_CLUSTER_TOKEN=secret");
    if (found.code != 0)
      return; // too many others wait before it
    ++seen_;
    const auto status = json::parse(found.output);
    CAPTURE(found.output);
    CHECK(status.at("term") == 1);
    CHECK(status.at("ranks").size() == 2);
  }

  cluster_job job_;
  recorded_sessions sessions_;
  const link_site* site_;
  coordinator_process lead_;
  network_link link_;
  attacked_port port_;
  /// Before the attacks.
  const milliseconds quiet_;
  long long quiet_pause_ = 0;
  long long pause_ = 0;
  int looks_ = 0;
  int seen_ = 0;
};

} // namespace

TEST_CASE("attackers of a coordinator's port change nothing") {
  const auto seed = number_in("LEAT_TEST_SEED", std::random_device{}());
  const auto seconds = number_in("LEAT_TEST_STRANGERS", sanitized ? 4 : 10);
  const bool is_secured = GENERATE(false, true);
  WARN("seed " << seed << " (LEAT_TEST_SEED), " << seconds << " s (LEAT_TEST_STRANGERS)"
               << (is_secured ? " with" : " without") << " certificates");
  const link_site site;
  attacked_job{seconds, seed, is_secured ? &site : nullptr}.run(seed);
}

} // namespace leat::test::cluster_strangers_test
