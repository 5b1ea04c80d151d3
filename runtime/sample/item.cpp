#include "runtime/sample/item.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <utility>

namespace leat {

void refuse_state(std::string got, std::string needed) {
  throw_error(errc::bad_snapshot, "lane state", std::move(got), std::move(needed));
}

void item::append(const item& x) {
  const auto before = bytes_.size();
  bytes_ += x.bytes_;
  for (const auto& p : x.payloads_)
    payloads_.push_back({p.begin + before, p.end + before, p.owner, p.content});
  for (const auto& x_use : x.uses_)
    use(x_use);
}

void item::append(item&& x) {
  if (bytes_.empty() && payloads_.empty() && uses_.empty())
    return swap(*this, x);
  const auto before = bytes_.size();
  bytes_ += x.bytes_;
  for (auto& p : x.payloads_)
    payloads_.push_back({p.begin + before, p.end + before, p.owner, std::move(p.content)});
  for (const auto& x_use : x.uses_)
    use(x_use);
  x.payloads_.clear();
}

void item::hold(const item& x) {
  add(std::string_view{x.bytes_});
  for (const auto& x_use : x.uses_)
    use(x_use);
}

void item::attach(std::size_t begin, std::uint32_t owner, payload_ptr content) {
  while (!payloads_.empty() && payloads_.back().begin >= begin)
    payloads_.pop_back();
  if (content)
    payloads_.push_back({begin, bytes_.size(), owner, std::move(content)});
}

void item::attach_restored(std::size_t begin, std::size_t end, payload_ptr content) {
  const auto at = std::upper_bound(payloads_.begin(), payloads_.end(), begin,
                                   [](std::size_t x, const attached& p) { return x < p.begin; });
  payloads_.insert(at, {begin, end, payload_of_source, std::move(content)});
}

const item::attached* item::find(std::size_t begin, std::uint32_t owner) const noexcept {
  auto p = std::lower_bound(payloads_.begin(), payloads_.end(), begin,
                            [](const attached& x, std::size_t at) { return x.begin < at; });
  for (; p != payloads_.end() && p->begin == begin; ++p)
    if (p->owner == owner)
      return &*p;
  return nullptr;
}

void item::drop_payloads() {
  std::erase_if(payloads_, [](const auto& p) { return p.owner != payload_of_source; });
}

void item::drop_surroundings() {
  std::erase_if(payloads_, [](const auto& p) { return p.owner == payload_around; });
}

void item::cut(std::size_t size) {
  bytes_.resize(size);
  std::erase_if(payloads_, [&](const auto& p) { return p.end > size; });
  if (size == 0)
    uses_.clear();
}

item item::from_bytes(std::string bytes, record_uses uses) {
  item x;
  x.bytes_ = std::move(bytes);
  x.uses_ = std::move(uses);
  return x;
}

std::uint64_t item_reader::long_number() {
  std::uint64_t x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size())
      refuse_state("the end of the state", "a number");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    if (shift == 63 && byte > 1)
      break;
    x |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80)
      return x;
  }
  refuse_state("a number above 64 bits", "a number");
}

std::uint64_t item_reader::number(std::uint64_t largest, std::string_view what) {
  const auto x = number();
  if (x > largest)
    refuse_state(std::string{what} + ' ' + std::to_string(x), "at most " + std::to_string(largest));
  return x;
}

std::uint64_t item_reader::number_below(std::uint64_t end, std::string_view what) {
  const auto x = number();
  if (x >= end)
    refuse_state(std::string{what} + ' ' + std::to_string(x), "one below " + std::to_string(end));
  return x;
}

std::string_view item_reader::text() {
  const auto size = number();
  if (size > bytes_.size() - at_)
    refuse_state("a text of " + std::to_string(size) + " bytes",
                 "at most " + std::to_string(bytes_.size() - at_));
  const auto begin = std::exchange(at_, at_ + size);
  return bytes_.substr(begin, size);
}

item item_reader::held() {
  std::string bytes{text()};
  // Which of the records belong to it was not written: it stands for all of them.
  return item::from_bytes(std::move(bytes), item_ ? item_->uses_ : record_uses{});
}

payload_ptr item_reader::take_payload(std::uint32_t owner) {
  const auto* found = item_ ? item_->find(at_, owner) : nullptr;
  if (!found)
    return nullptr;
  at_ = found->end;
  return found->content;
}

payload_ptr item_reader::find_payload(std::uint32_t owner) const {
  const auto* found = item_ ? item_->find(at_, owner) : nullptr;
  return found ? found->content : nullptr;
}

} // namespace leat
