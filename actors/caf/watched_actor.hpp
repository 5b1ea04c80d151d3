#pragma once

#include "actors/caf/keep_until_end.hpp"
#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/detail/init_fun_factory.hpp>
#include <caf/error.hpp>
#include <caf/execution_unit.hpp>
#include <caf/infer_handle.hpp>
#include <caf/resumable.hpp>
#include <caf/sec.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace leat {

/// Called with what an actor throws and its handlers do not catch. Any thread; perhaps more than
/// once. Must not throw, and must need no memory to report that there is none. May outlive what the
/// actor belongs to.
using failure_handler = std::function<void(error)>;

/// The base of every actor of leat. CAF would print an exception that leaves a handler, through an
/// actor that leat does not have, and one that leaves the end of an actor would end the process.
template <class Actor>
class watched_actor : public Actor, public token_keeper {
public:
  /// `stage`: what errors name.
  watched_actor(caf::actor_config& config, std::string stage, failure_handler failed)
      : Actor(config), stage_(std::move(stage)), failed_(std::move(failed)) {
    this->set_exception_handler([this](auto*, std::exception_ptr& x) {
      try {
        std::rethrow_exception(x);
      } catch (...) {
        tell();
      }
      return std::move(reason_);
    });
  }

  caf::resumable::resume_result resume(caf::execution_unit* on, std::size_t messages) override {
    try {
      const auto result = Actor::resume(on, messages);
      if (result == caf::resumable::done)
        give_back();
      return result;
    } catch (...) { // from the last step that CAF takes with an actor
      tell();
    }
    try {
      this->cleanup(std::move(reason_), on);
    } catch (...) { // the failure was reported already
    }
    give_back();
    return caf::resumable::done;
  }

  void on_destroy() override {
    try {
      Actor::on_destroy();
    } catch (...) { // from an actor that did not reach its end before
      tell();
    }
    give_back();
  }

private:
  /// Reports the exception in flight.
  void tell() noexcept {
    reserve_ = nullptr;
    if (!failed_)
      return;
    try {
      failed_(error_in_flight(errc::io, {.stage = stage_}));
    } catch (...) {
      failed_(no_memory_to_tell);
    }
  }

  static constexpr std::size_t reserve_bytes = std::size_t{16} << 10;

  const std::string stage_;
  const failure_handler failed_;
  /// The reason with which it ends; made in advance, like all that an actor without memory needs.
  caf::error reason_{caf::sec::runtime_error};
  /// For CAF, which tells others of the end.
  std::unique_ptr<std::byte[]> reserve_ = std::make_unique<std::byte[]>(reserve_bytes);
};

/// Spawns a stateful actor that runs wherever the system has a thread for it.
template <class Function, class... Arguments>
auto spawn_watched(caf::actor_system& system, std::string stage, failure_handler failed,
                   Function function, Arguments&&... arguments) {
  using actor = caf::infer_impl_from_fun_t<Function>;
  caf::actor_config config;
  caf::detail::init_fun_factory<actor, Function> factory;
  config.init_fun = factory(std::move(function), std::forward<Arguments>(arguments)...);
  return system.spawn_class<watched_actor<actor>, caf::no_spawn_options>(config, std::move(stage),
                                                                         std::move(failed));
}

} // namespace leat
