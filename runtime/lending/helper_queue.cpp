#include "runtime/lending/helper_queue.hpp"

#include <algorithm>
#include <utility>

namespace leat {

void helper_queue::add(task x) {
  const auto link = x.link;
  ranks_[link].waiting.push_back(std::move(x));
}

std::optional<helper_queue::task> helper_queue::take() {
  auto next = ranks_.upper_bound(last_);
  for (auto left = ranks_.size(); left > 0; --left, ++next) {
    if (next == ranks_.end())
      next = ranks_.begin();
    auto& [link, rank] = *next;
    if (rank.waiting.empty())
      continue;
    last_ = link;
    auto x = std::move(rank.waiting.front());
    rank.waiting.pop_front();
    rank.taken.insert(x.offer);
    return x;
  }
  return std::nullopt;
}

void helper_queue::done(const task& x) {
  if (const auto found = ranks_.find(x.link); found != ranks_.end())
    found->second.taken.erase(x.offer);
}

bool helper_queue::is_wanted(const task& x) const noexcept {
  const auto found = ranks_.find(x.link);
  return found != ranks_.end() && found->second.taken.contains(x.offer);
}

std::vector<helper_queue::task> helper_queue::cancel(std::uint64_t link,
                                                     const std::vector<std::uint64_t>& offers) {
  std::vector<task> dropped;
  const auto found = ranks_.find(link);
  if (found == ranks_.end())
    return dropped;
  auto& [waiting, taken] = found->second;
  for (const auto offer : offers) {
    taken.erase(offer);
    const auto x = std::find_if(waiting.begin(), waiting.end(),
                                [&](const task& each) { return each.offer == offer; });
    if (x == waiting.end())
      continue;
    dropped.push_back(std::move(*x));
    waiting.erase(x);
  }
  return dropped;
}

void helper_queue::drop(std::uint64_t link) {
  ranks_.erase(link);
}

std::size_t helper_queue::size() const noexcept {
  std::size_t n = 0;
  for (const auto& [link, x] : ranks_)
    n += x.waiting.size();
  return n;
}

} // namespace leat
