#pragma once

#include "messages/cluster/hello.hpp"
#include "runtime/cluster/coordinator_memory.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/error.hpp>
#include <leat/job_position.hpp>
#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string>

namespace leat::test {

/// The memory of coordinators, of which there may be several, one after another or at the same
/// time.
class kept_in_memory final : public coordinator_memory {
public:
  std::uint64_t begin_life(const std::string& address = {}) {
    address_ = address;
    return ++life_;
  }
  /// Simulates the removal of the directory.
  void remove() {
    life_ = 0;
    state_.reset();
  }
  /// Writes fail.
  std::atomic<bool> is_broken = false;
  /// Calls throw an error that has nothing to do with a directory.
  std::atomic<bool> has_no_memory = false;

  std::uint64_t newest_life() override {
    if (has_no_memory)
      throw std::bad_alloc{};
    return life_;
  }
  std::string newest_address() override { return address_; }
  void write_state(std::uint64_t life, const std::string& bytes) override {
    if (is_broken)
      throw error(errc::io, {.stage = "state directory", .got = "a broken one"});
    if (!state_ || life >= state_->life)
      state_ = found{life, bytes};
  }
  std::optional<found> read_state() override { return state_; }

private:
  std::atomic<std::uint64_t> life_ = 0;
  std::string address_;
  std::optional<found> state_;
};

/// The hello of a process, which the test identifies by a number.
inline cluster_hello hello_of(std::uint64_t process, std::optional<std::uint64_t> rank) {
  return {.version = "1",
          .token = "secret",
          .who = {.high = 7, .low = process},
          .process = {.host = {1, 1}, .boot = {1, 1}, .pid_namespace = 1, .pid = process},
          .host_name = "host" + std::to_string(process),
          .rank = rank};
}

/// A rank's part of a snapshot at this position, as bytes.
inline std::string part_of(std::uint64_t rank, std::uint64_t world_size, const job_position& at) {
  snapshot x;
  x.pipeline = describe(count(64).batch(4), 4);
  x.epoch = at.epoch;
  x.step = at.step;
  x.global_step = 9;
  x.rank = rank;
  x.world_size = world_size;
  return encode(x);
}

} // namespace leat::test
