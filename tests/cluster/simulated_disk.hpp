#pragma once

#include "messages/cluster/incarnation.hpp"
#include "runtime/cluster/coordinator_memory.hpp"
#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/cluster/simulated_network.hpp"

#include <leat/error.hpp>
#include <leat/job_position.hpp>

namespace leat::test {

/// A rank's part of a set, and the process that saved it.
struct tagged_part {
  std::uint64_t term = 0;
  incarnation who = {};
  std::string bytes;
};

using part_tag = std::array<std::uint64_t, 4>;

/// A part as the bytes that members keep and send, whose content does not matter to them.
inline std::string with_tag(const tagged_part& x) {
  const part_tag numbers{x.term, x.who.high, x.who.low, x.who.let_go};
  std::string bytes(sizeof(part_tag), '\0');
  std::memcpy(bytes.data(), numbers.data(), sizeof(part_tag));
  return bytes + x.bytes;
}

/// Throws std::logic_error.
inline tagged_part without_tag(const std::string& x) {
  if (x.size() < sizeof(part_tag))
    throw std::logic_error("a part without a tag");
  part_tag numbers{};
  std::memcpy(numbers.data(), x.data(), sizeof(part_tag));
  return {numbers[0], {numbers[1], numbers[2], numbers[3]}, x.substr(sizeof(part_tag))};
}

/// What all processes share: the state directory and the stored sets. It outlives all of them.
struct simulated_disk {
  std::uint64_t life = 0;
  /// The process of the coordinator with the newest life.
  std::uint64_t address = 0;
  /// States by the life that wrote them.
  std::map<std::uint64_t, std::string> states;
  /// The newest three sets, whole.
  std::map<job_position, std::vector<snapshot>> sets;
  bool is_full = false;
  /// The state directory is unusable for a time.
  bool is_broken = false;

  std::optional<job_position> newest_set() const {
    return sets.empty() ? std::nullopt : std::optional{sets.rbegin()->first};
  }
  void keep(const job_position& at, std::vector<snapshot> parts) {
    sets[at] = std::move(parts);
    while (sets.size() > 3)
      sets.erase(sets.begin());
  }
};

/// The state directory as one coordinator sees it.
class simulated_memory final : public coordinator_memory {
public:
  /// `volatile_terms`: what it writes is lost at its end. `blind`: it does not notice that another
  /// life has begun.
  simulated_memory(simulated_disk& disk, std::uint64_t life, bool volatile_terms, bool blind)
      : disk_(disk), life_(life), volatile_terms_(volatile_terms), blind_(blind) {}

  std::uint64_t newest_life() override {
    check();
    return blind_ ? life_ : disk_.life;
  }
  void write_state(std::uint64_t life, const std::string& bytes) override {
    before_write();
    check();
    const auto phase = decode_coordinator_state(bytes, "state").phase;
    if (!volatile_terms_ || phase != job_phase::running)
      disk_.states[life] = bytes;
  }
  std::optional<found> read_state() override {
    check();
    if (disk_.states.empty())
      return std::nullopt;
    const auto newest = disk_.states.rbegin();
    return found{newest->first, newest->second};
  }

  /// Called before a state is written, so that other things can happen just then.
  std::function<void()> before_write = [] {};

private:
  void check() const {
    if (disk_.is_broken)
      throw error(errc::io, {.stage = "state directory", .got = "an error"});
  }

  simulated_disk& disk_;
  std::uint64_t life_;
  bool volatile_terms_;
  bool blind_;
};

} // namespace leat::test
