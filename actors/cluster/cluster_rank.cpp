#include "actors/cluster/cluster_rank.hpp"

#include "actors/cluster/dialer.hpp"
#include "actors/cluster/member.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/boot_clock.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <map>
#include <new>
#include <string>
#include <utility>

namespace leat {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds actors_end_within{10};

/// A rank that has lost one of its actors can neither hear nor say anything.
failure_handler rank_failure(const std::shared_ptr<membership>& place) {
  return [place](const error& x) noexcept {
    std::string text{"no more memory"}; // so short that it needs none
    try {
      text = x.what();
    } catch (const std::bad_alloc&) {
    }
    place->hear([&](member& to) {
      if (to.term() == 0)
        to.on_no_connection(std::move(text)); // reported if no other connection is made in time
      else
        to.fail(std::move(text));
    });
  };
}

/// A process is one rank of a job: two would be taken for each other, by pid, and one of them could
/// not connect to a coordinator in its own process. Held as long as the rank is there. Any thread.
std::shared_ptr<const std::string> take_place(const std::string& coordinator) {
  static mutex guard;
  static std::map<std::string, std::weak_ptr<const std::string>> places;
  const mutex_lock lock{guard};
  auto& place = places[coordinator];
  if (!place.expired())
    refuse_argument("cluster", "a second loader of the job at " + coordinator + " in this process",
                    "one loader of the job in each process; one that does not belong to the job, "
                    "such as that of a validation, without a cluster");
  auto taken = std::make_shared<const std::string>(coordinator);
  place = taken;
  return taken;
}

member::time boot_time() {
  return member::time{boot_clock_ns()};
}

} // namespace

cluster_rank::cluster_rank(cluster_rank_config config)
    : config_(std::move(config)), place_in_process_(take_place(config_.coordinator_name)),
      on_(network_system::of_process()),
      place_(std::make_shared<membership>(config_.hello, config_.times, boot_time,
                                          config_.coordinator_lost_after)) {
  if (config_.own_coordinator)
    own_coordinator_ = std::make_unique<listening_coordinator>(on_, *config_.own_coordinator);
  try {
    begin();
  } catch (...) {
    end();
    throw;
  }
  place_->set_keeper([this] { coordinate_again(); });
}

cluster_rank::~cluster_rank() {
  leave();
  place_->set_keeper({});
  end();
  // The other ranks are to hear how the job has ended, or what differs: without a coordinator they
  // would wait for another one.
  const bool is_refused = place_->look([](const member& x) { return !x.refused().empty(); });
  if (own_coordinator_ && (has_finished_ || is_refused))
    own_coordinator_->wait_for_end(config_.times.linger + 2 * config_.times.beat);
}

void cluster_rank::begin() {
  const logger_release released;
  const auto failed = rank_failure(place_);
  stop_ = std::make_shared<wake_event>();
  dialer_ = spawn_in_thread(on_.system(), on_.threads(), "dialer", failed, dialer,
                            dialer_config{.token = secret{config_.hello.token},
                                          .certificates = config_.certificates,
                                          .stop = stop_},
                            gate_token{lives_});
  member_config config{.place = place_,
                       .coordinator = config_.coordinator,
                       .is_over = config_.is_over,
                       .dialer = dialer_,
                       .beat = config_.times.beat};
  if (own_coordinator_)
    config.local = own_coordinator_->handle();
  // A thread of its own: it looks into the state directory.
  member_ = spawn_in_thread(on_.system(), on_.threads(), "member", failed, member_shell, config,
                            gate_token{lives_});
  place_->set_speaker([to = member_] { caf::anon_send(to, say_atom_v); });
}

void cluster_rank::end() noexcept {
  place_->set_speaker({});
  if (member_)
    caf::anon_send_exit(member_, caf::exit_reason::user_shutdown);
  if (stop_)
    stop_->set();
  if (dialer_)
    caf::anon_send_exit(dialer_, caf::exit_reason::user_shutdown);
  member_ = nullptr;
  dialer_ = nullptr;
  (void)lives_->wait_for_none(actors_end_within);
}

void cluster_rank::coordinate_again() {
  if (!config_.own_coordinator || (own_coordinator_ && !own_coordinator_->has_ended()))
    return;
  const auto now = boot_time();
  const bool is_gone = place_->look(
      [&](const member& x) { return x.silence() > config_.times.lost && !x.is_over(); });
  if (!is_gone || now < coordinates_again_at_ || (config_.is_over && config_.is_over()))
    return;
  coordinates_again_at_ = now + config_.times.lost;
  end();
  own_coordinator_ = nullptr; // closes its port
  try {
    own_coordinator_ = std::make_unique<listening_coordinator>(on_, *config_.own_coordinator);
  } catch (const error& x) {
    notice(std::string{"cluster: "} + x.what());
  }
  begin();
}

void cluster_rank::finish() {
  has_finished_ = true;
  place_->state_in_seat([](member& x) { x.finish(); });
}

void cluster_rank::wait_until_over() {
  // A coordinator ends once it has told all other ranks; this one may have been stopped meanwhile,
  // and then never hears it.
  place_->wait([&](const member& x) {
    return x.is_over() || (x.is_done() && x.silence() > config_.coordinator_lost_after);
  });
  place_in_process_ = nullptr;
}

void cluster_rank::leave() noexcept {
  if (std::exchange(has_left_, true))
    return;
  place_in_process_ = nullptr;
  try {
    const auto deadline = std::chrono::steady_clock::now() + 2 * config_.times.beat;
    // Otherwise nobody may ever learn why this rank left.
    (void)place_->wait_until(
        [](const member& x) {
          return x.term() == 0 || !x.has_failed_unheard() || !x.no_connection().empty();
        },
        deadline);
    const auto before = boot_time();
    place_->state([](member& x) { x.leave(); });
    (void)place_->wait_until(
        [&](const member& x) {
          return x.is_over() || !x.no_connection().empty() || x.heard().value_or(before) > before;
        },
        deadline);
  } catch (...) { // out of memory: others notice its silence
    return;
  }
}

} // namespace leat
