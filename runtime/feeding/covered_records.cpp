#include "runtime/feeding/covered_records.hpp"

#include <leat/sample.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace leat {

namespace {

/// Places that an input acknowledges in one call.
constexpr std::uint64_t most_places = 1024;

} // namespace

covered_records::covered_records(feed_records& of, placed_input* queue)
    : of_(of), queue_(queue), below_(of.store->first()) {}

bool covered_records::let_go(std::uint64_t below) {
  const bool are_all = !queue_ || acknowledge(below);
  if (!queue_)
    below_ = below;
  // Where the last record was is where the next process continues.
  const auto next = of_.store->next();
  of_.store->release_below(of_.identity.has_places ? std::min(below_, next - 1) : below_);
  return are_all;
}

/// False if it was interrupted.
bool covered_records::acknowledge(std::uint64_t below) {
  while (below_ < below) {
    std::vector<std::string> places;
    const auto end = std::min(below, below_ + most_places);
    for (auto number = below_; number < end; ++number) {
      sample holds;
      places.emplace_back(of_.read(number, holds).record.place);
    }
    if (!queue_->acknowledge(places))
      return false;
    below_ = end;
  }
  return true;
}

} // namespace leat
