#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/http_head.hpp"
#include "runtime/storage/remote/remote_object.hpp"
#include "runtime/storage/remote/server/retry_schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// One range of one object, from the first request for it to its last byte: what has come, what is
/// still to be asked for, and what a response or its failure means. Knows neither connections nor
/// clocks. Used by one thread at a time.
class range_fetch {
public:
  /// Fills `into`, one after the other, with the object's bytes from `begin` on. If `into` is
  /// empty, the fetch only learns the object's pin.
  range_fetch(std::shared_ptr<remote_object> object, std::uint64_t begin,
              std::vector<std::span<std::byte>> into, read_done done);
  /// Takes an answer that has no ranges, of at most so many bytes. `body` lives until `done` is
  /// called.
  range_fetch(std::shared_ptr<remote_object> object, std::string& body, std::size_t most,
              read_done done);

  remote_object& object() const noexcept { return *object_; }
  const std::shared_ptr<remote_object>& shared_object() const noexcept { return object_; }
  bool learns_only() const noexcept { return range_.size() == 0; }
  bool takes_whole() const noexcept { return body_ != nullptr; }

  /// What a request asks for now.
  byte_range to_ask() const noexcept;
  /// All of what it fetches, in words; empty where that is no range.
  std::string asked_text() const;
  /// Judges the head of a response to a request for `asked`, and learns the object's pin.
  http_verdict head(const http_head& x, const byte_range& asked);
  /// A fetch of a part of this one's range, to the same places. This one waits for it.
  std::shared_ptr<range_fetch> part(const byte_range& range, read_done done) const;
  /// Puts bytes in their place, at an offset of the object.
  void put(std::uint64_t offset, std::span<const std::byte> bytes);
  /// All bytes before `offset` are in their places. The object may turn out to end before what was
  /// asked for: `end` is where.
  void has_come(std::uint64_t offset) noexcept { got_ = std::max(got_, offset - range_.begin); }
  void ends_at(std::uint64_t end) noexcept;
  bool is_complete() const noexcept { return got_ == range_.size(); }

  void succeed();
  void fail(errc code, std::string got, std::string needed);

  /// Distinguishes it from all others of its transfers.
  std::uint64_t number = 0;
  /// Set before the first request.
  std::optional<retry_schedule> schedule;
  /// Somebody waits for it.
  bool is_urgent = true;
  int redirects = 0;
  /// Of an answer that is taken whole: where another page of it is.
  std::string next_page = {};

private:
  std::shared_ptr<remote_object> object_;
  byte_range range_;
  std::vector<std::span<std::byte>> into_;
  read_done done_;
  std::uint64_t got_ = 0;
  std::string* body_ = nullptr;
};

} // namespace leat
