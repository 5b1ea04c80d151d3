#pragma once

#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/member.hpp"
#include "tests/support/cluster_facts.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat::test {

using namespace std::chrono_literals;

/// A coordinator and members with perfect connections; messages wait until they are delivered.
struct coordinator_cluster {
  explicit coordinator_cluster(const job_rules& rules) : rules(rules) { begin(); }

  void begin() {
    lead = std::make_unique<coordinator>(
        settings, "secret", memory.begin_life(), memory,
        [this](const std::string&) { return on_disk; }, now);
    for (auto& [number, x] : members)
      connect(number);
  }
  member& join(std::uint64_t process, std::optional<std::uint64_t> rank) {
    return join(process, hello(process, rank));
  }
  member& join(std::uint64_t process, const cluster_hello& hello) {
    auto& x = members.try_emplace(process, hello, settings.times).first->second;
    x.want("sets", {});
    connect(process);
    return x;
  }
  /// Processes 1, 2, ... as ranks 0, 1, ...: all that the rules want.
  void join_all() {
    for (std::uint64_t rank = 0; rank < rules.world_size; ++rank)
      join(rank + 1, rank);
    pass(2s);
  }
  cluster_hello hello(std::uint64_t process, std::optional<std::uint64_t> rank) const {
    auto x = hello_of(process, rank);
    x.rules = rules;
    return x;
  }
  void connect(std::uint64_t process) {
    auto& x = members.at(process);
    x.on_connected();
    lead->on_hello(process, x.hello(), now);
  }
  /// Delivers messages until nobody sends any more.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [number, x] : members) {
        if (silent.contains(number))
          continue;
        if (const auto beat = x.take_beat(now)) {
          lead->on_beat(number, *beat, now);
          moved = true;
        }
        if (const auto piece = x.take_piece()) {
          lead->on_part(number, *piece, now);
          moved = true;
        }
      }
      auto out = lead->take_output();
      for (const auto& x : out.sets)
        store(x);
      for (const auto& x : out.words)
        if (auto to = members.find(x.to); to != members.end() && !silent.contains(x.to))
          to->second.on_word(x.what, now);
      for (const auto& line : out.log)
        log.push_back(line);
    }
  }
  void pass(std::chrono::nanoseconds time) {
    for (const auto end = now + time; now < end; now += 500ms) {
      lead->tick(now);
      settle();
    }
  }
  void store(const set_command& x) {
    if (x.what == set_command::kind::add)
      parts[x.at][x.rank] = x.bytes;
    if (x.what != set_command::kind::finish)
      return;
    if (disk_is_full)
      return lead->on_not_stored(x.at, "the disk is full");
    on_disk = x.at;
    lead->on_stored(x.at);
  }
  bool all_sit_in(std::uint64_t term) {
    for (auto& [number, x] : members)
      if (x.term() != term || !x.has_lease(now))
        return false;
    return true;
  }

  /// The rules of every process that joins.
  job_rules rules;
  coordinator_settings settings;
  kept_in_memory memory;
  std::chrono::nanoseconds now = 100s;
  std::unique_ptr<coordinator> lead;
  std::map<std::uint64_t, member> members;
  std::map<std::uint64_t, bool> silent;
  std::map<job_position, std::map<std::uint64_t, std::string>> parts;
  std::optional<job_position> on_disk;
  bool disk_is_full = false;
  std::vector<std::string> log;
};

} // namespace leat::test
