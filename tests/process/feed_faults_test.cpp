#include "tests/support/cut_sockets.hpp"
#include "tests/support/fed_job.hpp"
#include "tests/support/launched_programs.hpp"
#include "tests/support/network_link.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random_faults.hpp"

#include <signal.h>

// Random jobs of several processes whose pipelines have feeds: feeds, ranks, coordinators and
// worker nodes are killed, stopped, cut off, slowed down and replaced at random, and other
// processes try to serve the same names. A launcher restarts what has ended; in elastic jobs ranks
// also stay away for a while, and others join. In the end the ranks have handed over each record
// once, in the order of a job in one process, and so do jobs that resume from the sets that were
// stored.
//
// LEAT_TEST_FAULTS:       how many faults, over as many jobs as that takes (12).
// LEAT_TEST_SEED:         seed of everything that is random here; times depend on the machine.
// LEAT_TEST_ELASTIC:      1: all jobs are elastic, 0: none is; otherwise some are.
// LEAT_TEST_CERTIFICATES: 1: all jobs have certificates, 0: none has; otherwise some have.
namespace leat::test::feed_faults_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

/// `shards`: files that all jobs read.
fed_plan make_plan(dice& random, const std::string& shards) {
  const std::string filtered = "FEED" + by_content;
  const std::string shuffled = filtered + ".shuffle_buffer(60, seed=3)";
  const std::string texts[] = {
      filtered, shuffled,
      "mix(" + filtered + ", lines(\"" + shards + "\", ranges=24), weights=[3, 1])",
      "mix(" + shuffled + ", feed(\"other\")" + by_content + ", weights=[2, 1])",
      "mix(feed(\"other\")" + by_content + ".shuffle_buffer(50, seed=1), " + filtered
          + ", weights=[1, 1])"};
  const bool is_elastic = number_in("LEAT_TEST_ELASTIC", random.happens(30)) != 0;
  // Ranks that wait are taken in once a term has lasted some seconds.
  const auto step_time = is_elastic ? 40 + random.below(80) : 4 + random.below(16);
  const auto every = is_elastic ? 3 + random.below(8) : 5 + random.below(20);
  fed_plan x{.pipeline = random.one_of(texts),
             .options = {"--snapshot-every", std::to_string(every), "--step-time",
                         std::to_string(step_time)},
             .world_size = is_elastic ? 4U : random.one_of({2U, 3U, 4U}),
             .is_elastic = is_elastic,
             .feeds = {"stdin"},
             .is_piped = random.happens(70),
             .bytes_per_ms = random.one_of({1000U, 10U, 4U}),
             .has_worker = random.happens(30),
             .is_secured = number_in("LEAT_TEST_CERTIFICATES", random.below(2)) != 0};
  if (contains(x.pipeline, "other"))
    x.feeds.emplace_back("other");
  if (!is_elastic && random.happens(50))
    x.options = x.options
                + words{"--on-rank-loss", "alone", "--run-ahead",
                        std::to_string(random.one_of({4U, 40U, 1000U}))};
  return x;
}

/// What a launcher keeps running: a rank, a feed, a coordinator or a worker node.
struct kept_process {
  enum class kind : std::uint8_t { rank, feed, worker, coordinator };

  kind what;
  std::string name;
  /// To the coordinator; null for the coordinator itself.
  std::unique_ptr<network_link> link = {};
  /// One, and others that were started in addition.
  std::vector<launched_program> processes = {};
  bool is_to_start = true;
  /// After its end; once.
  milliseconds stays_away{0};
  bool has_ended = false;

  std::shared_ptr<other_program> first() const {
    return processes.empty() ? nullptr : processes.front().second;
  }
};

/// A job under faults, and its launcher.
class troubled_job {
public:
  troubled_job(const fed_plan& plan, dice& random)
      : plan_(plan), random_(random), fed_(plan), digests_(plan.world_size),
        gap_(random.one_of({300U, 900U, 2000U})) {}

  /// Runs to the job's end. Returns how many faults there were, at most so many.
  int run(int most_faults) {
    add(kind::coordinator, "coordinator");
    for (std::uint64_t rank = 0; rank < plan_.world_size; ++rank)
      add(kind::rank, std::to_string(rank), plan_.is_elastic && rank == 3 ? 8000 : 0);
    for (const auto& feed : plan_.feeds)
      add(kind::feed, feed);
    if (plan_.has_worker)
      add(kind::worker, "worker");
    int faults = 0;
    auto next_fault = steady::now() + milliseconds{500};
    while (!is_done()) {
      std::this_thread::sleep_for(milliseconds{5});
      faults_.do_what_is_due();
      fed_.pour();
      for (auto& x : kept_)
        look_after(x);
      meet_coordinator();
      if (faults < most_faults && !is_over_ && steady::now() >= next_fault) {
        faults += make_fault() ? 1 : 0;
        next_fault = steady::now() + random_.up_to(gap_);
      }
      check_progress();
    }
    for (const auto& x : kept_) // feeds and workers that found no job any more
      for (const auto& [process, program] : x.processes)
        program->kill(); // signals that are still to come would keep it
    kept_.clear();
    return faults;
  }

  void check() {
    CAPTURE(story());
    std::vector<std::string> digests;
    for (const auto& x : digests_)
      if (x)
        digests.push_back(*x);
    fed_.check(digests);
  }

private:
  using kind = kept_process::kind;

  void later(milliseconds delay, std::function<void()> what) {
    faults_.later(delay, std::move(what));
  }
  void tell(const std::string& what) { faults_.tell(what); }

  // -- what a launcher does

  /// It begins after so many milliseconds, or some more.
  void add(kind what, const std::string& name, unsigned wait = 0) {
    auto& x = kept_.emplace_back(kept_process{what, name});
    if (what != kind::coordinator)
      x.link = std::make_unique<network_link>(0);
    later(milliseconds{wait} + random_.up_to(what == kind::coordinator ? 0 : 700),
          [this, &x] { start(x); });
  }

  std::unique_ptr<other_program> launch(const kept_process& x, const std::string& process,
                                        const words& more) const {
    switch (x.what) {
    case kind::rank:
      return fed_.rank(process, std::stoull(x.name), x.link->address(), more);
    case kind::feed:
      return fed_.feed(process, x.name, x.link->address());
    case kind::worker:
      return fed_.worker(process, x.link->address());
    default:
      return fed_.coordinator(process);
    }
  }
  void start(kept_process& x, const words& more = {}) {
    x.is_to_start = false;
    const auto process = x.name + "." + std::to_string(++num_processes_);
    x.processes.emplace_back(process, launch(x, process, more));
    tell("process " + process + " begins");
  }

  void look_after(kept_process& x) {
    for (const auto& [process, code] : take_ended(x.processes, faults_)) {
      CAPTURE(story(), process, code);
      REQUIRE((code == -1 || code == 0 || code == 1));
      if (code == 0)
        note_success(x, process);
    }
    if (!x.processes.empty() || x.has_ended || x.is_to_start)
      return;
    if (is_over_) { // nothing records it for those that come late
      x.has_ended = true;
      return;
    }
    x.is_to_start = true;
    const auto away = std::exchange(x.stays_away, milliseconds{0});
    later(away + random_.up_to(x.what == kind::coordinator ? 1500 : 400), [this, &x] {
      x.is_to_start = false;
      if (!is_over_)
        start(x);
    });
  }
  /// A feed that was needed no more is begun again while the job lasts: ranks may go back.
  void note_success(kept_process& x, const std::string& process) {
    if (x.what == kind::rank) {
      x.has_ended = true;
      if (const auto digest = fed_.job.digest_of(process))
        digests_.at(std::stoull(x.name)) = digest;
      is_over_ = is_over_ || std::all_of(kept_.begin(), kept_.end(), [](const kept_process& one) {
                   return one.what != kind::rank || one.has_ended;
                 });
    } else if (x.what == kind::coordinator) {
      is_over_ = true;
      // A rank that could not learn of the end, because it was stopped or cut off, would wait for
      // a coordinator.
      later(std::chrono::seconds{10}, [this] { kill_all(kind::rank); });
    }
  }

  /// Whether the job is over. Feeds and workers may not have learned of it.
  bool is_done() const {
    return is_over_ && std::all_of(kept_.begin(), kept_.end(), [](const kept_process& x) {
             return x.what != kind::rank || x.processes.empty();
           });
  }

  /// Others join the newest coordinator, which is not always the one that printed its address last.
  void meet_coordinator() {
    for (const auto& [process, program] : kept_.front().processes) {
      const auto told = coordinator_in(fed_.job.output_of(process), fed_.job.errors_of(process));
      if (!told || told->number <= newest_)
        continue;
      newest_ = told->number;
      for (auto& x : kept_)
        if (x.link)
          x.link->lead_to(told->port);
    }
  }

  /// Reports if nothing happens, which is the only sign of a hang.
  void check_progress() {
    std::uintmax_t size = 0;
    for (std::uint64_t i = 0; i < plan_.world_size; ++i)
      if (std::error_code problem; const auto n = fs::file_size(fed_.job.log_of(i), problem))
        size += problem ? 0 : n;
    CAPTURE(story());
    REQUIRE(faults_.has_moved(size, std::chrono::seconds{100}));
  }

  // -- faults

  void kill_all(kind what) const {
    for (const auto& x : kept_)
      if (x.what == what)
        for (const auto& [process, program] : x.processes)
          program->signal(SIGKILL);
  }

  /// Half of them are a feed's.
  kept_process& drawn() {
    std::vector<kept_process*> feeds;
    for (auto& x : kept_)
      if (x.what == kind::feed)
        feeds.push_back(&x);
    return random_.happens(50) ? *feeds[random_.below(feeds.size())]
                               : kept_[random_.below(kept_.size())];
  }

  bool make_fault() {
    auto& x = drawn();
    const auto process = x.first();
    if (!process)
      return false;
    if (plan_.is_secured && random_.happens(5)) {
      tell("renew certificates");
      fed_.issue();
      return true;
    }
    if (plan_.is_elastic && x.what == kind::rank && random_.happens(50)) {
      x.stays_away = a_while("leave as " + x.name);
      process->signal(SIGKILL);
      return true;
    }
    switch (random_.below(12)) {
    case 0:
    case 1:
    case 2:
      tell("kill " + x.name);
      process->signal(SIGKILL);
      return true;
    case 3:
    case 4:
      stop(x.name, process);
      return true;
    case 5:
    case 6:
      return cut(x.name, *process);
    case 7:
    case 8:
      return x.link && disturb(x);
    case 9:
      return add_another(x);
    case 10:
      return x.what == kind::feed && add_false_feed(x.name);
    default:
      kill_many();
      return true;
    }
  }

  /// How long a fault lasts, once it is told. Some last until others give up on the one that is
  /// silent.
  milliseconds a_while(const std::string& what) {
    const auto length = random_.up_to(random_.happens(8)    ? 13'000
                                      : random_.happens(30) ? 5000
                                                            : 1200);
    tell(what + " for " + std::to_string(length.count()) + " ms");
    return length;
  }
  void stop(const std::string& name, const std::shared_ptr<other_program>& process) {
    stop_for(a_while("stop " + name), process, faults_);
  }
  /// The connections between feeds and ranks among others.
  bool cut(const std::string& name, const other_program& process) {
    const auto sockets = cut_sockets_of(process.pid());
    tell("cut " + std::to_string(sockets) + " connections of " + name);
    return sockets > 0;
  }
  bool disturb(kept_process& x) {
    auto& link = *x.link;
    const auto how = random_.below(3);
    if (how == 0)
      link.cut();
    else if (how == 1)
      link.silence();
    else
      link.delay(random_.up_to(150));
    const char* const names[] = {"cut off ", "silence ", "delay "};
    later(a_while(names[how] + x.name), [&link, is_lost = random_.happens(30)] {
      link.delay(milliseconds{0});
      if (is_lost) // what was under way is lost
        link.cut();
      link.restore();
    });
    return true;
  }
  /// One more of a rank, of a coordinator with the same state, or of a feed with the same journal
  /// and input.
  bool add_another(kept_process& x) {
    const bool is_of_any_rank = plan_.is_elastic && x.what == kind::rank; // they would share a log
    if (x.what == kind::worker || x.processes.size() > 2 || is_of_any_rank)
      return false;
    tell("start " + x.name + " twice");
    start(x, x.what == kind::rank ? words{"--join-within", "2"} : words{});
    return true;
  }
  /// Serves the name from other records. From the first set on, that is never right.
  bool add_false_feed(const std::string& name) {
    if (!fed_.has_sets())
      return false;
    const auto process = "false." + name + "." + std::to_string(++num_processes_);
    const auto length = a_while("serve " + name + " falsely");
    const auto& link = *std::find_if(kept_.begin(), kept_.end(), [&](const kept_process& x) {
                          return x.what == kind::feed && x.name == name;
                        })->link;
    const std::shared_ptr<other_program> program = fed_.false_feed(process, name, link.address());
    later(length, [program] { program->kill(); });
    return true;
  }
  void kill_many() {
    tell("kill all ranks");
    kill_all(kind::rank);
    for (const auto what : {kind::feed, kind::coordinator})
      if (random_.happens(50)) {
        tell(what == kind::feed ? "and all feeds" : "and the coordinator");
        kill_all(what);
      }
  }

  std::string story() const { return plan_.text() + "\n" + faults_.text() + fed_.errors(); }

  const fed_plan& plan_;
  dice& random_;
  fed_job fed_;
  std::deque<kept_process> kept_; // the coordinator is the first
  std::vector<std::optional<std::string>> digests_;
  /// The number of the coordinator that others join.
  std::uint64_t newest_ = 0;
  fault_story faults_;
  std::uint64_t num_processes_ = 0;
  bool is_over_ = false;
  /// At most so many milliseconds are between two faults.
  unsigned gap_;
};

TEST_CASE("random jobs under random faults of their feeds hand over what one process does") {
  const auto seed = number_in("LEAT_TEST_SEED", std::random_device{}());
  const auto faults = static_cast<int>(number_in("LEAT_TEST_FAULTS", 12));
  WARN("seed " << seed << " (LEAT_TEST_SEED), faults " << faults << " (LEAT_TEST_FAULTS)");
  dice random{seed};
  const temporary_directory shared;
  for (const auto* const name : {"shard0.txt", "shard1.txt"}) {
    std::ofstream lines{shared / name};
    for (int i = 0; i < 450; ++i)
      lines << name << ' ' << i << '\n';
  }
  for (int done = 0, i = 0; done < faults; ++i) {
    const auto plan = make_plan(random, shared / "shard?.txt");
    CAPTURE(i, plan.text());
    troubled_job job{plan, random};
    done += job.run(std::min(faults - done, 25));
    job.check();
  }
}

} // namespace
} // namespace leat::test::feed_faults_test
