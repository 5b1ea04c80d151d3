#include "runtime/sources/feed/needed_records.hpp"

#include <utility>

namespace leat {

bool needed_records::is_own(std::uint64_t number) const noexcept {
  return rank_.world_size == 1 || number % rank_.lanes % rank_.world_size == rank_.rank;
}

std::uint64_t needed_records::place_of(std::uint64_t number) const noexcept {
  if (rank_.world_size == 1)
    return number;
  const auto lane = number % rank_.lanes;
  return number / rank_.lanes * rank_.size() + (lane - rank_.rank) / rank_.world_size;
}

std::uint64_t needed_records::number_at(std::uint64_t place) const noexcept {
  if (rank_.world_size == 1)
    return place;
  const auto size = rank_.size();
  return place / size * rank_.lanes + place % size * rank_.world_size + rank_.rank;
}

/// Of the first block with this number or a larger one.
std::size_t needed_records::index_from(std::uint64_t block_number) const noexcept {
  if (blocks_.empty())
    return 0;
  if (const auto usual = block_number - blocks_.front()->number; is_at(usual, block_number))
    return usual;
  const auto found =
      std::lower_bound(blocks_.begin(), blocks_.end(), block_number,
                       [](const auto& x, std::uint64_t number) { return x->number < number; });
  return static_cast<std::size_t>(found - blocks_.begin());
}

/// Null if there is none.
needed_records::block* needed_records::block_at(std::uint64_t block_number) const noexcept {
  if (last_ && last_->number == block_number)
    return last_;
  const auto index = index_from(block_number);
  return is_at(index, block_number) ? last_ = blocks_[index].get() : nullptr;
}

needed_records::record* needed_records::at(std::uint64_t place) const noexcept {
  auto* const in = block_at(place / places_per_block);
  return in ? &in->records[place % places_per_block] : nullptr;
}

const needed_records::record* needed_records::find(std::uint64_t number) const {
  if (is_own(number)) {
    const auto* const found = at(place_of(number));
    return found && found->is_needed ? found : nullptr;
  }
  const auto found = others_.find(number);
  return found == others_.end() ? nullptr : &found->second;
}

needed_records::record* needed_records::find(std::uint64_t number) {
  return const_cast<record*>(std::as_const(*this).find(number));
}

needed_records::record& needed_records::make(std::uint64_t number) {
  if (!is_own(number)) {
    auto& x = others_[number];
    x.is_needed = true;
    return x;
  }
  const auto place = place_of(number);
  const bool is_first = blocks_.empty();
  auto* found = block_at(place / places_per_block);
  if (!found) {
    auto made = std::make_unique<block>();
    found = made.get();
    found->number = place / places_per_block;
    const auto index = static_cast<std::ptrdiff_t>(index_from(found->number));
    blocks_.insert(blocks_.begin() + index, std::move(made));
  }
  first_place_ = is_first ? place : std::min(first_place_, place);
  end_ = is_first ? place + 1 : std::max(end_, place + 1);
  auto& in = *found;
  auto& x = in.records[place % places_per_block];
  in.num_needed += x.is_needed ? 0 : 1;
  x.is_needed = true;
  return x;
}

void needed_records::erase(std::uint64_t number) {
  if (!is_own(number)) {
    others_.erase(number);
    return;
  }
  const auto place = place_of(number);
  auto& in = *block_at(place / places_per_block);
  in.records[place % places_per_block] = {};
  if (--in.num_needed == 0) {
    const auto index = static_cast<std::ptrdiff_t>(index_from(in.number));
    last_ = nullptr;
    blocks_.erase(blocks_.begin() + index);
  }
  if (place == first_place_ && !blocks_.empty())
    first_place_ = visit_from(place, [](auto, const record& x) { return !x.is_needed; });
}

std::uint64_t needed_records::end_place() const noexcept {
  return blocks_.empty() ? first_place_
                         : std::min(end_, blocks_.back()->first() + places_per_block);
}

std::uint64_t needed_records::place_from(std::uint64_t place) const noexcept {
  const auto index = index_from(place / places_per_block);
  return index < blocks_.size() ? std::max(place, blocks_[index]->first()) : end_place();
}

} // namespace leat
