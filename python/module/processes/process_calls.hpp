#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/bad_sample.hpp>
#include <leat/sample.hpp>

#include "python/module/processes/shared_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// What two processes send each other: calls of a function of a pipeline, and how they ended. Both
// run the same module on the same machine, so numbers are copied as they are in memory.

namespace leat::python {

/// A message on the socket: `used` bytes are in the shared memory that its sender writes.
struct process_message {
  enum class kind : std::uint64_t {
    calls,
    replies,
    /// The process has started.
    ready,
    /// It could not create its functions; the bytes are the error's text.
    refused,
  };
  kind what = kind::calls;
  std::uint64_t used = 0;
  /// Size of the shared memory.
  std::uint64_t size = 0;
};

/// One call of a function.
struct process_call {
  sample* on = nullptr;
  /// Null for functions that take none.
  context* in = nullptr;
  std::string argument = {};
  std::string result = {};
};

enum class call_end : std::uint64_t {
  done,
  bad,
  no_resources,
  /// Ended by an exception that ends the job; it follows, pickled.
  interrupted,
};

/// The first number in the memory of calls, in which the called process counts how many it has
/// begun.
inline std::atomic_ref<std::uint64_t> number_of_begun(const shared_memory& requests) noexcept {
  return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(requests.bytes().data())};
}

/// Reads a number that is an argument or result.
std::uint64_t number_in(std::string_view bytes) noexcept;
std::string bytes_of_number(std::uint64_t x);

/// Writes values to shared memory, one after the other.
class call_writer {
public:
  explicit call_writer(shared_memory& to) noexcept : to_(&to) {}

  std::size_t size() const noexcept { return size_; }
  /// Takes back what was written after the first `size` bytes.
  void shrink(std::size_t size) noexcept { size_ = size; }

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& x) { std::memcpy(room(sizeof x).data(), &x, sizeof x); }
  void text(std::string_view x);
  /// A field of a sample. Returns its bytes, which stay until the next one is written.
  std::span<const std::byte> field(const sample& x, const std::string& name);

private:
  std::span<std::byte> room(std::size_t size);

  shared_memory* to_;
  std::size_t size_ = 0;
};

/// Reads what a call_writer wrote. Throws `errc::worker_lost` for anything that a call_writer would
/// not have written: a function may have overwritten memory of its process.
class call_reader {
public:
  explicit call_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(T& x) { std::memcpy(static_cast<void*>(&x), take(sizeof x).data(), sizeof x); }
  std::uint64_t number() {
    std::uint64_t x = 0;
    value(x);
    return x;
  }
  std::span<const std::byte> bytes() { return take(number()); }
  std::string_view text();

private:
  std::span<const std::byte> take(std::size_t size);

  std::span<const std::byte> rest_;
};

/// A call as the called process reads it.
class received_call : not_copied {
public:
  /// Borrows from the bytes that it reads.
  void read(call_reader& from);
  /// Writes the fields as the function left them; of those that have not changed, only the names.
  void write_fields(call_writer& to) const;

  process_call& call() noexcept { return call_; }
  const std::string& id() const noexcept { return id_; }

private:
  bool was_given(std::span<const std::byte> field) const;

  sample content_;
  std::optional<context> place_;
  std::string id_;
  std::vector<std::span<const std::byte>> given_;
  process_call call_;
};

/// Writes a call for `received_call::read`.
void write_call(call_writer& to, const process_call& call);

/// Changes a sample to what `received_call::write_fields` wrote.
void read_fields(call_reader& from, sample& into);

} // namespace leat::python
