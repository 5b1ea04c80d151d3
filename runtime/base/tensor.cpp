#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"

#include <leat/tensor.hpp>

#include <utility>

namespace leat {

namespace {

constexpr std::array<std::string_view, 12> names{"u8",  "i8",  "u16", "i16", "u32", "i32",
                                                 "u64", "i64", "f32", "f64", "f16", "bf16"};

} // namespace

std::string_view to_string(dtype x) noexcept {
  return names[static_cast<std::size_t>(x) % names.size()];
}

dtype parse_dtype(std::string_view text, const std::string& stage) {
  std::string known;
  for (auto i = static_cast<int>(dtype::u8); i <= static_cast<int>(last_dtype); ++i) {
    const auto x = static_cast<dtype>(i);
    if (to_string(x) == text)
      return x;
    known += (known.empty() ? "one of " : ", ") + std::string{to_string(x)};
  }
  refuse_argument(stage, "type " + excerpt(text), std::move(known));
}

shape::shape(std::initializer_list<std::size_t> extents) {
  if (extents.size() > max_rank)
    refuse_argument("shape", std::to_string(extents.size()) + " dimensions", "at most 6");
  for (auto x : extents)
    extents_[rank_++] = x;
}

shape shape::behind(std::size_t outermost) const {
  shape result{outermost};
  if (rank_ == max_rank)
    refuse_argument("shape", "6 dimensions and rows", "at most 6");
  for (std::size_t i = 0; i < rank_; ++i)
    result.extents_[result.rank_++] = extents_[i];
  return result;
}

std::string to_string(const shape& x) {
  std::string text = "[";
  for (std::size_t i = 0; i < x.rank(); ++i)
    text += (i ? ", " : "") + std::to_string(x[i]);
  return text + "]";
}

} // namespace leat
