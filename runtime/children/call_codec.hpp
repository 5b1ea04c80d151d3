#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/value_bytes.hpp"

#include <leat/bad_sample.hpp>
#include <leat/child_functions.hpp>
#include <leat/sample.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

// What a process and its child send each other: calls of a function of a pipeline, and how they
// ended. The bytes lie in shared memory; a message on a socket says how many there are.

/// A message on the socket: `used` bytes are in the shared memory that its sender writes.
struct child_message {
  enum class kind : std::uint64_t {
    calls,
    replies,
    /// The child has started.
    ready,
    /// It could not create its functions; the bytes are the error's text.
    refused,
  };
  kind what = kind::calls;
  std::uint64_t used = 0;
  /// Size of the shared memory.
  std::uint64_t size = 0;
};

/// The first number in the memory of calls, in which the child counts how many it has begun.
inline std::atomic_ref<std::uint64_t> number_of_begun(std::span<std::byte> requests) noexcept {
  return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(requests.data())};
}

/// How a call failed.
struct call_failure {
  enum class kind : std::uint8_t {
    bad,
    no_resources,
    /// An exception that ends the job.
    interrupted,
  };

  kind what = kind::bad;
  cause why = cause::function_error;
  std::string text = {};
  /// Of an exception that ends the job: itself, as served_functions::raised says it.
  std::string raised = {};
};

/// A call as the child reads it.
class received_call : not_copied {
public:
  /// Borrows from the bytes that it reads. Throws `torn_value`.
  void read(value_reader& from);
  /// Writes how the call ended; where it is done, its result, and the fields as the function left
  /// them: of those that have not changed, only the names.
  void write_reply(value_writer& to, const std::optional<call_failure>& problem) const;

  function_call& call() noexcept { return call_; }

private:
  void write_changes(value_writer& to) const;
  bool was_given(std::span<const std::byte> field) const;

  sample content_;
  std::optional<context> place_;
  std::string id_;
  std::vector<std::span<const std::byte>> given_;
  function_call call_;
};

/// Writes a call for `received_call::read`.
void write_call(value_writer& to, const function_call& call);

/// Reads what `received_call::write_reply` wrote: changes the call's sample, and sets its result.
/// Returns how the call failed, if it did. Throws `torn_value` for anything else.
std::optional<call_failure> read_reply(value_reader& from, function_call& into);

} // namespace leat
