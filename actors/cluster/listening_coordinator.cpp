#include "actors/cluster/listening_coordinator.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "actors/caf/link.hpp"
#include "messages/cluster/interfaces.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/cluster/boot_clock.hpp"
#include "runtime/cluster/set_files.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace leat {

namespace {

/// Nobody waits longer than this for a disk to finish a set.
constexpr std::chrono::seconds end_patience{10};

/// After such a failure the coordinator's state may be wrong.
failure_handler told_in(const std::function<void(const std::string&)>& log) {
  return [log](const error& x) noexcept {
    try {
      log(std::string{"the coordinator cannot go on: "} + x.what());
    } catch (...) { // no memory for the text
    }
  };
}

struct set_store_state {
  static inline const char* name = "set_store";

  std::optional<set_files> files;
};

/// Spawn in a thread of its own: fsync blocks. Ends with the coordinator `answer_to`.
set_store_actor::behavior_type set_store(set_store_actor::stateful_pointer<set_store_state> self,
                                         const set_files_config& files,
                                         const coordinator_actor& answer_to, gate_token alive) {
  self->state.files.emplace(files);
  keep_until_end(self, std::move(alive));
  self->monitor(answer_to);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  return {
      [self, to = caf::actor_cast<caf::actor_addr>(answer_to)](const set_command& x) {
        const auto answer = self->state.files->run(x);
        if (!answer)
          return;
        if (const auto coordinator = caf::actor_cast<coordinator_actor>(to))
          self->send(coordinator, stored_atom_v, answer->at.epoch, answer->at.step,
                     answer->why_not);
      },
  };
}

} // namespace

listening_coordinator::listening_coordinator(network_system& on, const listening_config& config)
    : on_(on), address_(config.place.told) {
  const logger_release released;
  guard_config own{
      .at = config.place.at,
      .port = config.place.told.port,
      .certificates = config.certificates,
      .is_insecure = true, // whoever chose the place has asked for that
      .rules = {.roles = {link_role::rank, link_role::observer, link_role::worker, link_role::feed},
                .token = secret{config.token}},
      .log = config.log};
  guard_ = std::make_shared<port_guard>(std::move(own));
  address_.port = guard_->port();
  life_ = config.begin_life(to_string(address_));
  begin(config);
  try {
    open(config.token);
  } catch (...) {
    end();
    throw;
  }
}

/// Peers that know the token are the coordinator's from now on, until it ends by itself.
void listening_coordinator::open(const std::string& token) {
  handle_->attach_functor([guard = std::weak_ptr{guard_}](const caf::error&) {
    if (const auto open = guard.lock())
      open->close();
  });
  guard_->begin(
      [&on = on_.system(), to = handle_, known = secret{token}, lives = lives_](connected_peer x) {
        const logger_release released;
        link_to_peer(on, std::move(x), to, known, gate_token{lives});
      });
}

listening_coordinator::~listening_coordinator() {
  const logger_release released;
  end();
}

void listening_coordinator::begin(const listening_config& config) {
  const auto failed = told_in(config.log);
  const auto store_thread = own_thread::begin(on_.system(), on_.threads(), "set store");
  const auto make_store = [store_thread, failed, lives = lives_, memory = config.memory,
                           life = life_, keep = config.keep](const coordinator_actor& to) {
    const set_files_config files{
        .keep = keep, .is_newest = [memory, life] { return memory->newest_life() == life; }};
    return spawn_in(store_thread, "set store", failed, set_store, files, to, gate_token{lives});
  };
  const coordinator_config own{.life = life_,
                               .memory = config.memory,
                               .token = secret{config.token},
                               .job = config.job,
                               .times = config.times,
                               .keep = config.keep,
                               .newest_set = newest_set_in,
                               .make_store = make_store,
                               .log = config.log,
                               .now = [] { return std::chrono::nanoseconds{boot_clock_ns()}; },
                               .ended = config.ended};
  handle_ = spawn_in_thread(on_.system(), on_.threads(), "coordinator", failed, coordinator_shell,
                            own, gate_token{lives_});
  if (config.ended)
    handle_->attach_functor([ended = config.ended](const caf::error& reason) {
      if (reason && reason != caf::exit_reason::user_shutdown)
        ended(coordinator_end::broken);
    });
}

void listening_coordinator::end() {
  guard_ = nullptr;
  caf::anon_send_exit(handle_, caf::exit_reason::user_shutdown);
  handle_ = nullptr;
  (void)lives_->wait_for_none(end_patience);
}

} // namespace leat
