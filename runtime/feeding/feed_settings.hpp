#pragma once

#include "runtime/sources/feed/feed_identity.hpp"
#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/feed/feed_messages.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "runtime/sources/live/once_input.hpp"

#include <leat/certificates.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace leat {

/// That one feed serves at a time: each has two threads.
inline constexpr std::size_t most_ranks_of_feed = 4096;

/// How a process serves a source: see feed_options.
struct feed_settings {
  std::string name = {};
  /// Empty: whoever looks for ranks knows where they are.
  std::string join = {};
  /// As what it comes to ranks.
  link_role role = link_role::feed;
  /// A directory; empty: records are kept in memory.
  std::string journal = {};
  bool sync = false;
  std::uint64_t file_bytes = journal_format{}.file_bytes;
  /// A journal that says of no feed whose it is was written by a job in one process, which this one
  /// continues.
  bool takes_over = false;
  std::uint64_t memory = std::uint64_t{256} << 20;
  std::string certificates = {};
  std::string token = {};
  std::shared_ptr<once_input> input = {};
  std::stop_token stop = {};
  std::function<void(const std::string&)> log = {};
  /// Hears where a rank takes none of its records, and why; in a thread of the feed. Empty: only
  /// the log says so.
  std::function<void(const std::string& address, const std::string& why)> refused = {};
};

/// Throws `errc::invalid_argument`.
feed_settings checked(feed_settings x);

/// Where the records are kept, and what they are.
struct feed_records {
  std::unique_ptr<record_store> store = {};
  feed_identity identity = {};
  /// Names whoever has opened them, each time anew.
  hash128 process = {};
  bool has_journal = false;

  /// What ranks hear first.
  feed_offer offer() const;
  struct found {
    /// As ranks get it, with its place, if it has one.
    placed_record record = {};
    /// Has the bytes; null: the sample that was given has them.
    std::shared_ptr<const void> owner = {};
  };
  /// Throws as the store; `errc::mismatch` for a record of another kind of feed.
  found read(std::uint64_t number, sample& holds) const;
};

/// Opens the journal, if there is one. Throws as `journal` and `identity_in`.
feed_records open_records(const feed_settings& x);

} // namespace leat
