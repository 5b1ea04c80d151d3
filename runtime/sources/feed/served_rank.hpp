#pragma once

#include "runtime/sources/feed/feed_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace leat {

/// A rank that a feed has a link to: what it has said, what it has been told, and which records it
/// waits for. A plain value.
class served_rank {
public:
  /// Whether a rank that keeps to the rules may say this to a feed with these records.
  bool may_say(const feed_want& x, const feed_offer& own) const;
  void hear(const feed_want& x, const feed_offer& own);
  /// Empty lanes until it has said something.
  const feed_want& said() const noexcept { return said_; }
  bool has_said() const noexcept { return has_said_; }

  /// What it is to hear; nothing if it knows that. Which records came for other ranks is nothing to
  /// it, unless it waits for them: so a feed says no more in all, however many ranks there are.
  /// `all`: also what need not be heard at once.
  std::optional<feed_offer> take_offer(const feed_offer& own, bool all);
  /// Records that go to it next, and how many bytes of them.
  struct portion {
    /// These first, whatever the window.
    std::vector<std::uint64_t> urgent = {};
    /// These as long as the bytes before them are fewer than `room`. Those that have none are given
    /// back.
    std::vector<std::uint64_t> others = {};
    std::uint64_t room = 0;

    bool is_empty() const noexcept { return urgent.empty() && others.empty(); }
  };
  /// At most so many. None that its window does not allow.
  portion take(const feed_offer& own, std::size_t most);
  /// These, of the portion that was taken last, were not sent. What became urgent meanwhile is so.
  void give_back(const portion& x);
  void sent(std::uint64_t bytes) noexcept { sent_bytes_ += bytes; }
  /// What it has asked for is gone: it hears which records there are, even if that is not new.
  void lacks() noexcept { must_hear_ = true; }
  /// Bytes that it has not said it needs no more.
  std::uint64_t bytes_under_way() const noexcept { return sent_bytes_ - said_.used; }

private:
  bool has_said_ = false;
  feed_want said_;
  std::deque<std::uint64_t> asked_;
  /// These are not in `asked_`.
  std::deque<std::uint64_t> urgent_;
  /// What was taken and may be given back, and what of that has become urgent since.
  std::vector<std::uint64_t> taken_;
  std::vector<std::uint64_t> hurried_;
  std::uint64_t sent_bytes_ = 0;
  struct news {
    std::uint64_t next = 0;
    bool has_ended = false;
    bool has_failed = false;
  };
  std::optional<news> told_;
  /// Even if nothing is new.
  bool must_hear_ = false;
};

} // namespace leat
