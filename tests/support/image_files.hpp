#pragma once

#include "runtime/image/pixels/rgb_view.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/photos.hpp"
#include "tests/support/places.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat::test {

/// More pixels than any image has.
inline constexpr std::size_t no_limit = std::size_t{1} << 40;

/// The photographs of `load_photos`. A test without any says so, and passes.
inline std::vector<std::vector<std::byte>> photos_or_warning(std::size_t limit) {
  auto photos = load_photos(limit);
  if (photos.empty())
    WARN("skipped: no photographs in " << photos_dir);
  return photos;
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text.data(), text.size()});
  return {bytes.begin(), bytes.end()};
}

/// All rows, one after the other.
inline std::vector<std::uint8_t> pixels_of(const rgb_view& view) {
  std::vector<std::uint8_t> pixels;
  for (std::size_t y = 0; y < view.height; ++y)
    pixels.insert(pixels.end(), view.row(y), view.row(y) + 3 * view.width);
  return pixels;
}

/// Checks that a call calls its sample bad for the expected reason. Returns the error's text.
template <class Call>
std::string text_of_bad(cause expected, int line, Call call) {
  const auto problem = bad_sample_of(call);
  INFO("line " << line << ": " << (problem ? problem->second : "good"));
  REQUIRE(problem);
  CHECK(to_string(problem->first) == to_string(expected));
  CHECK_FALSE(problem->second.empty());
  return problem->second;
}

/// The file with bytes changed at random: one to eight of them.
inline std::vector<std::byte> with_random_bytes(std::vector<std::byte> file, std::mt19937& random) {
  for (auto n = 1 + random() % 8; n > 0; --n)
    file[random() % file.size()] = static_cast<std::byte>(random());
  return file;
}

} // namespace leat::test
