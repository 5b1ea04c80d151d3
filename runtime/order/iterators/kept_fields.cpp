#include "runtime/order/iterators/kept_fields.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace leat {

namespace {

/// Small, because one field that a pack holds for long keeps all of its block.
constexpr std::size_t block_bytes = std::size_t{16} << 10;
/// More get a block of their own, which is freed afterwards.
constexpr std::size_t most_bytes_shared = block_bytes / 2;
/// More than a rank's lanes have in flight at most times.
constexpr std::size_t most_blocks = 512;

constexpr std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t unit = alignof(std::max_align_t);
  return (bytes + unit - 1) / unit * unit;
}

// No destructor of theirs is called: a block's memory is used again as it is.
static_assert(std::is_trivially_destructible_v<sample_access::field_view>);
static_assert(std::is_trivially_copyable_v<input_count>);

} // namespace

class kept_fields::block {
public:
  explicit block(std::size_t size)
      : size_(size), bytes_(std::make_unique_for_overwrite<std::byte[]>(size)) {}

  /// Null if there is too little.
  std::byte* room(std::size_t bytes) noexcept {
    if (size_ - used_ < bytes)
      return nullptr;
    return bytes_.get() + std::exchange(used_, used_ + bytes);
  }
  void clear() noexcept { used_ = 0; }

private:
  std::size_t size_;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

class kept_fields::block_pool : public std::enable_shared_from_this<block_pool> {
public:
  std::shared_ptr<block> take() {
    std::unique_ptr<block> x;
    {
      const mutex_lock lock{mutex_};
      free_.reserve(most_blocks); // so that putting one back cannot fail
      if (!free_.empty()) {
        x = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!x)
      x = std::make_unique<block>(block_bytes);
    auto* const raw = x.release();
    // If this throws, it has called the deleter.
    return {raw, [home = shared_from_this()](block* back) {
              home->put_back(std::unique_ptr<block>{back});
            }};
  }

private:
  void put_back(std::unique_ptr<block> x) noexcept {
    x->clear();
    const mutex_lock lock{mutex_};
    if (free_.size() < most_blocks)
      free_.push_back(std::move(x));
  }

  mutex mutex_;
  std::vector<std::unique_ptr<block>> free_ LEAT_GUARDED_BY(mutex_);
};

kept_fields::kept_fields() : pool_(std::make_shared<block_pool>()) {}

kept_fields::~kept_fields() = default;

kept_fields::place kept_fields::room(std::size_t bytes) {
  if (bytes > most_bytes_shared) {
    auto own = std::make_shared<block>(bytes);
    auto* const at = own->room(bytes);
    return {at, std::move(own)};
  }
  auto* at = current_ ? current_->room(bytes) : nullptr;
  if (!at) {
    current_ = nullptr; // perhaps nobody has it any more, and it is the next one
    current_ = pool_->take();
    at = current_->room(bytes);
  }
  return {at, current_};
}

std::shared_ptr<const kept_field> kept_fields::keep(const sample& x, std::string_view field,
                                                    std::uint64_t sample_key,
                                                    const input_counts& given) {
  auto content = sample_access::view(x, field);
  const auto counts = std::as_bytes(std::span{given});
  auto in =
      room(aligned(sizeof(kept_field)) + aligned(counts.size()) + aligned(content.bytes.size()));
  auto* const counts_at = in.at + aligned(sizeof(kept_field));
  auto* const bytes_at = counts_at + aligned(counts.size());
  std::copy(counts.begin(), counts.end(), counts_at);
  if (!content.bytes.empty())
    std::memcpy(bytes_at, content.bytes.data(), content.bytes.size());
  auto* const kept = new (in.at) kept_field;
  content.bytes = {bytes_at, content.bytes.size()};
  kept->content = content;
  kept->sample_key = sample_key;
  kept->given = {reinterpret_cast<const input_count*>(counts_at), given.size()};
  return {std::move(in.of), kept};
}

} // namespace leat
