#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/children/call_codec.hpp"
#include "runtime/children/child_exit.hpp"
#include "runtime/children/child_process.hpp"
#include "runtime/children/shared_memory.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/child_functions.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace leat {

/// A process that runs the functions of one stage. Used by one thread at a time.
class function_process : not_copied {
public:
  explicit function_process(const child_recipe& recipe) noexcept : recipe_(&recipe) {}

  /// Starts the process if there is none, and sends it calls of an operation. Throws
  /// `errc::no_resources`, and what `child_recipe::start` throws.
  void send(std::uint64_t operation, std::span<function_call> calls);
  /// Its next message; nothing if there is none, as it has ended. To be called once `socket` is
  /// readable, or the process `has_ended`. Throws `errc::no_resources`, `torn_value`.
  std::optional<child_message> receive();
  /// The bytes of a message that was received.
  value_reader content(const child_message& x) const noexcept;
  int socket() const noexcept { return channel_->socket.get(); }
  /// How many of the calls that were sent have begun.
  std::uint64_t begun() const noexcept;

  /// Whether it has created its functions.
  bool is_ready() const noexcept { return is_ready_; }
  bool has_made_calls() const noexcept { return has_made_calls_; }
  /// Kills it if it lives.
  child_exit end() noexcept;
  /// The same for one of which there are no more messages: how it ended by itself, if it does soon.
  child_exit end_by_itself() noexcept;
  /// Its socket may not say so, as long as a process lives that a function has begun.
  bool has_ended() const noexcept { return channel_ && channel_->process.has_ended(); }

private:
  struct channel {
    file_descriptor socket;
    shared_memory requests;
    shared_memory replies;
    child_process process;
  };

  void begin();
  bool send_message(const child_message& x) const noexcept;

  const child_recipe* recipe_;
  std::unique_ptr<channel> channel_;
  bool is_ready_ = false;
  bool has_made_calls_ = false;
};

} // namespace leat
