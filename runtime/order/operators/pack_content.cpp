#include "runtime/order/operators/pack_content.hpp"

#include "runtime/base/number_as.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/sample/machine_memory.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace leat {

namespace {

/// The bytes of an element that the plan gives as an integer. Throws `bad_sample` if the documents'
/// type cannot represent it.
std::array<std::byte, 8> element_bytes(std::uint64_t x, dtype type, std::string_view field) {
  std::array<std::byte, 8> bytes{};
  visit_type(type, [&](auto zero) {
    const auto element = element_of<decltype(zero)>(x, field);
    std::memcpy(bytes.data(), &element, sizeof element);
  });
  return bytes;
}

/// As std::fill_n, but with the widest moves of the machine, which memcpy knows.
void fill(std::int32_t* to, std::size_t n, std::int32_t x) {
  constexpr std::size_t first = 64;
  constexpr std::size_t most = 1024; // so that what is copied lies in the first-level cache
  std::fill_n(to, std::min(n, first), x);
  for (auto done = first; done < n;) {
    const auto more = std::min({done, n - done, most});
    std::memcpy(to + done, to, more * sizeof *to);
    done += more;
  }
}

/// first, first + 1, ..
void number(std::int32_t* to, std::size_t n, std::int32_t first) {
  static const auto numbers = [] {
    std::array<std::int32_t, 8192> x{};
    std::iota(x.begin(), x.end(), 0);
    return x;
  }();
  const auto begin = std::min<std::size_t>(static_cast<std::size_t>(first), numbers.size());
  const auto copied = std::min(n, numbers.size() - begin);
  if (copied > 0)
    std::memcpy(to, numbers.data() + begin, copied * sizeof *to);
  std::iota(to + copied, to + n, first + static_cast<std::int32_t>(copied));
}

void check_labels(dtype type) {
  visit_type(type, [&](auto zero) {
    if constexpr (!std::is_integral_v<decltype(zero)>)
      throw bad_sample(cause::wrong_shape, "documents of " + std::string{to_string(type)}
                                               + " have no labels: labels are whole numbers");
  });
}

} // namespace

void pack_content::add(const sample& document, std::uint64_t first,
                       std::optional<std::uint64_t> last) {
  const auto layout = sample_access::layout_of(document, plan_.field);
  if (!data_)
    begin(layout.type);
  else if (type_ != layout.type)
    throw bad_sample(cause::wrong_shape, "documents of " + std::string{to_string(type_)} + " and "
                                             + to_string(layout) + " in one pack");
  const auto bytes = document.bytes(plan_.field);
  const auto elements = bytes.size() / width_;
  const auto end = last.value_or(elements + plan_.delimiters());
  if (end > elements + plan_.delimiters() || end - first > plan_.length - filled_)
    throw bad_sample(cause::too_large, "a document of " + std::to_string(elements)
                                           + " elements; a pack has "
                                           + std::to_string(plan_.length));
  const auto copied = std::min<std::uint64_t>(end, elements) - std::min(first, elements);
  if (copied > 0)
    std::memcpy(data_ + filled_ * width_, bytes.data() + first * width_, copied * width_);
  if (end > elements && plan_.delimiter)
    put(filled_ + copied, delimiter_);
  if (labels_)
    label(bytes, first, end);
  if (segments_)
    fill(segments_ + filled_, end - first, static_cast<std::int32_t>(bounds_.size()));
  if (offsets_) // below `longest_pack`
    number(offsets_ + filled_, end - first, static_cast<std::int32_t>(first));
  filled_ += end - first;
  bounds_.push_back(static_cast<std::int32_t>(filled_));
}

std::uint64_t pack_content::finish() {
  const auto padding = plan_.length - filled_;
  for (auto* zeros : {segments_, offsets_})
    if (zeros)
      std::fill_n(zeros + filled_, padding, 0);
  if (labels_)
    std::fill_n(labels_ + filled_, padding, plan_.ignore_index);
  pad();
  if (plan_.cu_seqlens)
    set_bounds();
  return padding;
}

/// Fills up the documents: with one element, then with as many as are there, up to what caches
/// hold.
void pack_content::pad() {
  constexpr std::size_t most = std::size_t{16} << 10;
  const auto first = filled_;
  if (first < plan_.length)
    put(filled_++, pad_);
  while (filled_ < plan_.length) {
    const auto n = std::min({filled_ - first, plan_.length - filled_, most / width_});
    std::memcpy(data_ + filled_ * width_, data_ + first * width_, n * width_);
    filled_ += n;
  }
}

void pack_content::set_bounds() {
  into_.set_ragged("cu_seqlens", bounds_);
  std::int32_t longest = 0;
  for (std::size_t i = 1; i < bounds_.size(); ++i)
    longest = std::max(longest, bounds_[i] - bounds_[i - 1]);
  into_.set("longest", longest);
}

void pack_content::begin(dtype type) {
  const shape dims{plan_.length};
  type_ = type;
  width_ = size_of(type);
  // Checked whether or not this pack needs padding: so all packs of a kind are good, or none.
  pad_ = element_bytes(plan_.pad, type, plan_.field);
  if (plan_.delimiter)
    delimiter_ = element_bytes(*plan_.delimiter, type, plan_.field);
  if (plan_.labels)
    check_labels(type);
  // All at once: to fill the first fields takes long where there is no room for the others.
  const std::size_t numbers = (plan_.segment ? 1U : 0U) + (plan_.offset ? 1U : 0U);
  check_sample_bytes(
      plan_.length
      * (width_ + numbers * sizeof(std::int32_t) + (plan_.labels ? sizeof(std::int64_t) : 0U)));
  data_ = into_.make_tensor(plan_.field, type, dims);
  if (plan_.segment)
    segments_ = into_.make<std::int32_t>("segment", dims).data();
  if (plan_.offset)
    offsets_ = into_.make<std::int32_t>("offset", dims).data();
  if (plan_.labels)
    labels_ = into_.make<std::int64_t>("labels", dims).data();
}

void pack_content::put(std::uint64_t at, const std::array<std::byte, 8>& element) {
  std::memcpy(data_ + at * width_, element.data(), width_);
}

/// Writes the labels of elements `first` to `end` of a document, of which the first one is at
/// `filled_`.
void pack_content::label(std::span<const std::byte> document, std::uint64_t first,
                         std::uint64_t end) {
  visit_type(type_, [&](auto zero) {
    using type = decltype(zero);
    const auto label_of = [](const std::byte* bytes) {
      type x;
      std::memcpy(&x, bytes, sizeof x);
      return element_of<std::int64_t>(x, "labels");
    };
    const auto elements = document.size() / sizeof(type);
    auto* to = labels_ + filled_;
    for (auto next = first + 1; next <= end; ++next)
      if (next < elements)
        *to++ = label_of(document.data() + next * sizeof(type));
      else if (next == elements && plan_.delimiter)
        *to++ = label_of(delimiter_.data());
      else
        *to++ = plan_.ignore_index;
  });
}

} // namespace leat
