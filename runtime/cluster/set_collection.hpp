#pragma once

#include "runtime/cluster/set_of_parts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// What is to be done with the file of a set; in the order given, one set at a time.
struct set_command {
  enum class kind : std::uint8_t { begin, add, finish, abandon };

  kind what = kind::begin;
  job_position at;
  /// Where sets are kept, and the number of parts.
  std::string directory;
  std::uint64_t world_size = 1;
  /// add: the part of this rank.
  std::uint64_t rank = 0;
  std::string bytes;
};

/// The sets that a job stores, one after the other: which one is collected, what is to be done with
/// its file, and which one is the newest.
class set_collection {
public:
  /// A term begins, or is taken over. What was collected is given up.
  void begin_term(std::uint64_t world_size);
  void set_directory(std::string x) { directory_ = std::move(x); }
  void set_stored(const std::optional<job_position>& x) { stored_ = x; }

  /// Chooses what to collect. True if that has changed.
  bool choose(const std::vector<kept_parts>& ranks);
  /// Takes a piece of a part. True if that is whole now.
  bool add(const cluster_part& piece);
  /// Gives up what was collected, which may be chosen again. Not while a set is being stored.
  void restart();

  /// Answers to `finish`, and to any command that failed. False if that was of an older set.
  bool on_stored(const job_position& at);
  bool on_not_stored(const job_position& at, const std::string& why);

  /// All parts are there: the file is being finished.
  bool is_storing() const noexcept { return is_storing_; }
  const std::optional<job_position>& target() const noexcept { return parts_.target(); }
  const std::optional<job_position>& given_up() const noexcept { return parts_.given_up(); }
  std::optional<std::uint64_t> needed_of(std::uint64_t rank) {
    return is_storing_ ? std::nullopt : parts_.needed_of(rank);
  }
  /// See set_of_parts.
  std::optional<std::uint64_t> next_to_ask() {
    return is_storing_ ? std::nullopt : parts_.next_to_ask();
  }
  const std::optional<job_position>& stored() const noexcept { return stored_; }
  /// Number and text of the newest failure.
  std::uint64_t failures() const noexcept { return failures_; }
  const std::string& failure() const noexcept { return failure_; }

  std::vector<set_command> take_commands() { return std::exchange(commands_, {}); }

private:
  void command(set_command::kind what, const job_position& at, std::uint64_t rank = 0,
               std::string bytes = {});

  set_of_parts parts_{0};
  std::string directory_;
  std::uint64_t world_size_ = 0;
  bool is_storing_ = false;
  std::optional<job_position> stored_;
  std::uint64_t failures_ = 0;
  std::string failure_;
  std::vector<set_command> commands_;
};

} // namespace leat
