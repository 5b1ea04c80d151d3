#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leat {

using token_id = std::uint32_t;
constexpr token_id no_token = std::numeric_limits<token_id>::max();

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view x) const noexcept {
    return std::hash<std::string_view>{}(x);
  }
};
/// Looked up by a part of another text.
using tokens_by_text = std::unordered_map<std::string, token_id, text_hash, std::equal_to<>>;

/// Texts that do not change, of less than 4 GiB in all, and their tokens, none of which is
/// `no_token`, in one array: a text that is not there costs one look into memory, one that is there
/// two. Any thread.
class text_table {
public:
  text_table() = default;
  explicit text_table(const tokens_by_text& all);

  bool empty() const noexcept { return slots_.empty(); }
  /// The text's token, or `no_token`.
  token_id find(std::string_view text) const noexcept {
    if (text.size() > longest_ || empty())
      return no_token;
    const auto hash = text_hash{}(text);
    for (auto at = hash & mask_;; at = (at + 1) & mask_) {
      const auto& x = slots_[at];
      if (x.id == no_token)
        return no_token;
      if (x.mark == mark_of(hash) && x.size == text.size()
          && text == std::string_view{texts_.data() + x.begin, x.size})
        return x.id;
    }
  }

private:
  struct slot {
    std::uint32_t mark = 0;
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    token_id id = no_token;
  };

  /// The bits of a hash that do not say where its slot is.
  static std::uint32_t mark_of(std::size_t hash) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{hash} >> 32);
  }

  std::vector<slot> slots_;
  std::string texts_;
  std::size_t mask_ = 0;
  std::size_t longest_ = 0;
};

} // namespace leat
