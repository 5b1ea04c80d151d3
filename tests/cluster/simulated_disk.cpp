#include "tests/cluster/simulated_disk.hpp"

#include "runtime/cluster/coordinator_state.hpp"

#include <leat/error.hpp>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace leat::test {

namespace {

constexpr std::size_t sets_kept = 3;
using tag = std::array<std::uint64_t, 4>;

} // namespace

std::string with_tag(const tagged_part& x) {
  const tag numbers{x.term, x.who.high, x.who.low, x.who.let_go};
  std::string bytes(sizeof(tag), '\0');
  std::memcpy(bytes.data(), numbers.data(), sizeof(tag));
  return bytes + x.bytes;
}

tagged_part without_tag(const std::string& x) {
  if (x.size() < sizeof(tag))
    throw std::logic_error("a part without a tag");
  tag numbers{};
  std::memcpy(numbers.data(), x.data(), sizeof(tag));
  return {numbers[0], {numbers[1], numbers[2], numbers[3]}, x.substr(sizeof(tag))};
}

void simulated_disk::keep(const job_position& at, std::vector<snapshot> parts) {
  sets[at] = std::move(parts);
  while (sets.size() > sets_kept)
    sets.erase(sets.begin());
}

void simulated_memory::check() const {
  if (disk_.is_broken)
    throw error(errc::io, {.stage = "state directory", .got = "an error"});
}

std::uint64_t simulated_memory::newest_life() {
  check();
  return blind_ ? life_ : disk_.life;
}

void simulated_memory::write_state(std::uint64_t life, const std::string& bytes) {
  before_write();
  check();
  const auto phase = decode_coordinator_state(bytes, "state").phase;
  if (volatile_terms_ && phase == job_phase::running)
    return;
  disk_.states[life] = bytes;
}

std::optional<coordinator_memory::found> simulated_memory::read_state() {
  check();
  if (disk_.states.empty())
    return std::nullopt;
  const auto newest = disk_.states.rbegin();
  return found{newest->first, newest->second};
}

} // namespace leat::test
