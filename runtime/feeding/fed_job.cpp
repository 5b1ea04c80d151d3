#include "runtime/feeding/fed_job.hpp"

#include <algorithm>

namespace leat {

live_source::state fed_job::look(std::uint64_t number) {
  is_used = true;
  const auto state = client.look(number);
  client.starve(state == live_source::state::pending);
  lanes_.looked(number, state == live_source::state::ready);
  // Fields of batches are learned from all lanes: of others little is read, and once.
  const bool is_own = number % place_.lanes % place_.world_size == place_.rank;
  if (state == live_source::state::ready && is_own)
    client.records().need(number);
  return state;
}

fetched_records::content fed_job::read(std::uint64_t number) {
  auto& records = client.records();
  records.need(number); // perhaps once more: it was read long ago, or its lane has released it
  auto found = records.find(number);
  if (found)
    records.note_read(number, window_ / 2);
  else
    records.await(number);
  return found;
}

void fed_job::cover(std::uint64_t number, std::uint64_t lane) {
  client.cover(number, lane);
  lanes_.cover(number, lane);
}

bool fed_job::is_short() const noexcept {
  const auto& has = client.offer();
  return is_used && !is_over && !(has && has->has_ended) && lanes_.is_short(has ? has->next : 0);
}

void fed_job::resume(std::uint64_t lowest, std::uint64_t behind) {
  is_used = true;
  lanes_.resume(behind);
  lowest_ = std::min(lowest_, lowest);
  client.resume(lowest_, behind);
}

} // namespace leat
