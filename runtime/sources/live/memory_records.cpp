#include "runtime/sources/live/memory_records.hpp"

#include "runtime/sources/live/ready_bytes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace leat {

std::uint64_t memory_records::first() const {
  mutex_lock lock{mutex_};
  return first_;
}

std::uint64_t memory_records::next() const {
  mutex_lock lock{mutex_};
  return first_ + records_.size();
}

std::optional<std::size_t> memory_records::take(int from) {
  std::array<std::byte, 1 << 16> buffer;
  const auto n = read_ready(from, buffer);
  if (n)
    add_text({reinterpret_cast<const char*>(buffer.data()), *n});
  return n;
}

void memory_records::add_text(std::string_view text) {
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    half_line_ += text.substr(0, end);
    append(std::exchange(half_line_, {}));
    text.remove_prefix(end + 1);
  }
  half_line_ += text;
}

void memory_records::end_line() {
  if (!half_line_.empty())
    append(std::exchange(half_line_, {}));
}

void memory_records::append(std::string_view content) {
  auto record = std::make_shared<const std::string>(content);
  mutex_lock lock{mutex_};
  records_.push_back(std::move(record));
}

std::shared_ptr<const std::string> memory_records::find(std::uint64_t number) const {
  mutex_lock lock{mutex_};
  if (number < first_ || number - first_ >= records_.size())
    return nullptr;
  return records_[number - first_];
}

std::span<const std::byte> memory_records::read(std::uint64_t number, sample& into) const {
  const auto record = find(number);
  if (!record)
    throw_no_record(*this, number);
  const auto to = into.scratch(record->size());
  std::copy_n(reinterpret_cast<const std::byte*>(record->data()), record->size(), to.data());
  return to;
}

void memory_records::release_below(std::uint64_t number) {
  mutex_lock lock{mutex_};
  for (; first_ < number && !records_.empty(); ++first_)
    records_.pop_front();
}

} // namespace leat
