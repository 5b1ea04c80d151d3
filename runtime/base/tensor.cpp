#include "runtime/base/text.hpp"

#include <leat/error.hpp>
#include <leat/tensor.hpp>

#include <utility>

namespace leat {

namespace {

struct dtype_facts {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<dtype_facts, 12> dtypes{{{"u8", 1},
                                              {"i8", 1},
                                              {"u16", 2},
                                              {"i16", 2},
                                              {"u32", 4},
                                              {"i32", 4},
                                              {"u64", 8},
                                              {"i64", 8},
                                              {"f32", 4},
                                              {"f64", 8},
                                              {"f16", 2},
                                              {"bf16", 2}}};

const dtype_facts& facts_of(dtype x) noexcept {
  return dtypes[static_cast<std::size_t>(x) % dtypes.size()];
}

} // namespace

std::size_t size_of(dtype x) noexcept {
  return facts_of(x).bytes;
}

std::string_view to_string(dtype x) noexcept {
  return facts_of(x).name;
}

dtype parse_dtype(std::string_view text, const std::string& stage) {
  std::string names;
  for (auto i = static_cast<int>(dtype::u8); i <= static_cast<int>(last_dtype); ++i) {
    const auto x = static_cast<dtype>(i);
    if (to_string(x) == text)
      return x;
    names += (names.empty() ? "one of " : ", ") + std::string{to_string(x)};
  }
  throw error(errc::invalid_argument,
              {.stage = stage, .got = "type " + excerpt(text), .needed = std::move(names)});
}

shape::shape(std::initializer_list<std::size_t> extents) {
  if (extents.size() > max_rank)
    throw error(errc::invalid_argument, {.stage = "shape",
                                         .got = std::to_string(extents.size()) + " dimensions",
                                         .needed = "at most 6"});
  for (auto x : extents)
    extents_[rank_++] = x;
}

std::size_t shape::elements() const noexcept {
  std::size_t n = 1;
  for (std::size_t i = 0; i < rank_; ++i)
    n *= extents_[i];
  return n;
}

shape shape::behind(std::size_t outermost) const {
  shape result{outermost};
  if (rank_ == max_rank)
    throw error(errc::invalid_argument,
                {.stage = "shape", .got = "6 dimensions and rows", .needed = "at most 6"});
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
