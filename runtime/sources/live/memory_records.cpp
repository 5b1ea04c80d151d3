#include "runtime/sources/live/memory_records.hpp"

#include "runtime/sources/live/ready_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Some records of 100 KB lie in such a block as a whole.
constexpr std::size_t bytes_per_block = std::size_t{1} << 18;
/// What is left of a block is not worth a read.
constexpr std::size_t least_read = std::size_t{1} << 12;

} // namespace

std::uint64_t memory_records::first() const {
  mutex_lock lock{mutex_};
  return first_;
}

std::uint64_t memory_records::next() const {
  mutex_lock lock{mutex_};
  return first_ + records_.size();
}

std::optional<std::size_t> memory_records::take(int from) {
  make_room();
  const std::span room{block_.bytes.get() + block_.end, block_.size - block_.end};
  const auto n = read_ready(from, std::as_writable_bytes(room));
  if (n)
    add_lines(*n);
  return n;
}

/// A line that does not end in its block continues in the next one.
void memory_records::make_room() {
  if (block_.size - block_.end >= least_read)
    return;
  const auto begun = block_.end - block_.line;
  text_block next{.size = std::max(bytes_per_block, 2 * begun), .end = begun};
  next.bytes = std::make_shared_for_overwrite<char[]>(next.size);
  if (begun > 0)
    std::memcpy(next.bytes.get(), block_.bytes.get() + block_.line, begun);
  block_ = std::move(next);
}

/// So many bytes have come.
void memory_records::add_lines(std::size_t bytes) {
  std::vector<record> all;
  const std::string_view text{block_.bytes.get(), block_.end + bytes};
  for (auto end = text.find('\n', block_.end); end != text.npos; end = text.find('\n', end + 1)) {
    all.push_back({block_.bytes, text.substr(block_.line, end - block_.line)});
    block_.line = end + 1;
  }
  block_.end = text.size();
  add(all);
}

void memory_records::end_line() {
  if (block_.end == block_.line)
    return;
  std::vector<record> last{
      {block_.bytes, {block_.bytes.get() + block_.line, block_.end - block_.line}}};
  block_.line = block_.end;
  add(last);
}

void memory_records::append(std::string_view content) {
  const auto block = std::make_shared<const std::string>(content);
  mutex_lock lock{mutex_};
  records_.push_back({block, *block});
}

void memory_records::add(std::vector<record>& all) {
  mutex_lock lock{mutex_};
  for (auto& x : all)
    records_.push_back(std::move(x));
}

/// Without a block if it is not here.
memory_records::record memory_records::find(std::uint64_t number) const {
  mutex_lock lock{mutex_};
  if (number < first_ || number - first_ >= records_.size())
    return {};
  return records_[number - first_];
}

record_store::shared_content memory_records::share(std::uint64_t number) const {
  auto found = find(number);
  if (!found.block)
    throw_no_record(*this, number);
  return {std::move(found.block), found.content};
}

std::span<const std::byte> memory_records::read(std::uint64_t number, sample& into) const {
  const auto found = share(number);
  const auto from = std::as_bytes(std::span{found.bytes});
  const auto to = into.scratch(from.size());
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}

void memory_records::release_below(std::uint64_t number) {
  mutex_lock lock{mutex_};
  for (; first_ < number && !records_.empty(); ++first_)
    records_.pop_front();
}

} // namespace leat
