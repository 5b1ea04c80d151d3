#include <leat/decode_times.hpp>

#include <algorithm>
#include <limits>

namespace leat {

const char* to_string(decode_part x) noexcept {
  constexpr std::array names{"headers",
                             "weights, tables of resampling",
                             "Huffman tables",
                             "removing stuffing",
                             "entropy: skim",
                             "entropy: decode",
                             "inverse DCT",
                             "resample: narrow",
                             "resample: sum, colour, store"};
  static_assert(names.size() == num_decode_parts);
  return names[static_cast<std::size_t>(x)];
}

decode_times::decode_times() {
  constexpr int looks = 100;
  cost_ = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 10; ++round) { // the system may take the processor in one of them
    begin();
    for (int i = 0; i < looks; ++i)
      lap(decode_part::headers);
    const std::chrono::duration<double, std::nano> all = parts_[0].time;
    cost_ = std::min(cost_, all.count() / looks);
    parts_ = {};
  }
}

void decode_times::begin() noexcept {
  last_ = clock::now();
}

void decode_times::lap(decode_part x) noexcept {
  const auto now = clock::now();
  auto& to = parts_[static_cast<std::size_t>(x)];
  to.time += now - last_;
  ++to.laps;
  last_ = now;
}

std::chrono::nanoseconds decode_times::time_in(decode_part x) const noexcept {
  const auto& from = parts_[static_cast<std::size_t>(x)];
  const std::chrono::nanoseconds all{from.time};
  const std::chrono::nanoseconds own{
      static_cast<std::int64_t>(static_cast<double>(from.laps) * cost_)};
  return std::max(all - own, std::chrono::nanoseconds{0});
}

std::chrono::nanoseconds decode_times::total() const noexcept {
  std::chrono::nanoseconds sum{0};
  for (std::size_t i = 0; i < num_decode_parts; ++i)
    sum += time_in(static_cast<decode_part>(i));
  return sum;
}

} // namespace leat
