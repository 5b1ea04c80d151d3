#pragma once

#include "messages/cluster/incarnation.hpp"
#include "runtime/cluster/coordinator_memory.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/cluster/simulated_network.hpp"

#include <leat/job_position.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leat::test {

/// A rank's part of a set, and the process that saved it.
struct tagged_part {
  std::uint64_t term = 0;
  incarnation who = {};
  std::string bytes;
};

/// A part as the bytes that members keep and send, whose content does not matter to them.
std::string with_tag(const tagged_part& x);
/// Throws std::logic_error.
tagged_part without_tag(const std::string& x);

/// What all processes share: the state directory and the stored sets. It outlives all of them.
struct simulated_disk {
  std::uint64_t life = 0;
  /// The process of the coordinator with the newest life.
  std::uint64_t address = 0;
  /// States by the life that wrote them.
  std::map<std::uint64_t, std::string> states;
  /// The newest few sets, whole.
  std::map<job_position, std::vector<snapshot>> sets;
  bool is_full = false;
  /// The state directory is unusable for a time.
  bool is_broken = false;

  std::optional<job_position> newest_set() const {
    return sets.empty() ? std::nullopt : std::optional{sets.rbegin()->first};
  }
  void keep(const job_position& at, std::vector<snapshot> parts);
};

/// The state directory as one coordinator sees it.
class simulated_memory final : public coordinator_memory {
public:
  /// `volatile_terms`: what it writes is lost at its end. `blind`: it does not notice that another
  /// life has begun.
  simulated_memory(simulated_disk& disk, std::uint64_t life, bool volatile_terms, bool blind)
      : disk_(disk), life_(life), volatile_terms_(volatile_terms), blind_(blind) {}

  std::uint64_t newest_life() override;
  void write_state(std::uint64_t life, const std::string& bytes) override;
  std::optional<found> read_state() override;

  /// Called before a state is written, so that other things can happen just then.
  std::function<void()> before_write = [] {};

private:
  void check() const;

  simulated_disk& disk_;
  std::uint64_t life_;
  bool volatile_terms_;
  bool blind_;
};

} // namespace leat::test
