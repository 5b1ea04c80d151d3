#pragma once

#include "runtime/image/image_reader.hpp"
#include "tests/support/simd_variants.hpp"

#include <leat/bad_sample.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat::test {

/// The outcome for a file: the pixels, or the reason why there are none.
struct image_outcome {
  std::optional<cause> why;
  std::string text;
  std::vector<std::byte> pixels;

  /// Texts may differ: one decoder may meet one damage first, another decoder another.
  friend bool operator==(const image_outcome& a, const image_outcome& b) {
    return a.why == b.why && a.pixels == b.pixels;
  }
};

/// All ways from a file to pixels, which must give the same pixels: leat's own decoder with each
/// instruction set, also with known places of MCU rows, and libjpeg.
class image_ways {
public:
  explicit image_ways(std::size_t max_pixels) : max_pixels_(max_pixels) {
    for (const auto& x : simd_variants())
      for (const bool own : {true, false})
        ways_.emplace_back(x, own);
  }

  /// Two for each instruction set: leat's own decoder and libjpeg.
  std::size_t size() const noexcept { return ways_.size(); }
  const std::string& name(std::size_t way) const noexcept { return ways_[way].name; }

  image_outcome make(std::size_t way, std::span<const std::byte> file, const resize_plan& what,
                     const tensor_form& form, std::span<const scan_place> places = {}) {
    return made(way, file, what, form, places, &image_reader::make);
  }
  image_outcome make_exact(std::span<const std::byte> file, const resize_plan& what,
                           const tensor_form& form) {
    return made(0, file, what, form, {}, &image_reader::make_exact);
  }

  /// For a file that can be opened.
  std::vector<scan_place> survey(std::span<const std::byte> file) {
    planes_.open(file, max_pixels_);
    return planes_.survey();
  }

  /// Makes pixels in all ways; names those that differ from the first.
  std::string differing(std::span<const std::byte> file, const resize_plan& what,
                        const tensor_form& form, std::span<const scan_place> places,
                        image_outcome& first) {
    return differing(file, what, form, places, first, std::equal_to<image_outcome>{});
  }

  /// Like `differing`, for a file that may be damaged. Damage may produce coefficients that
  /// overflow: then leat's own pixels are those of libjpeg-turbo's vector code for x86, and other
  /// builds of it produce others. What is good or bad is the same everywhere.
  std::string differing_if_damaged(std::span<const std::byte> file, const resize_plan& what,
                                   const tensor_form& form, std::span<const scan_place> places,
                                   image_outcome& first) {
#if defined(__x86_64__)
    return differing(file, what, form, places, first);
#else
    return differing(file, what, form, places, first,
                     [](const auto& a, const auto& b) { return a.why == b.why; });
#endif
  }

private:
  template <class Make>
  image_outcome made(std::size_t way, std::span<const std::byte> file, const resize_plan& what,
                     const tensor_form& form, std::span<const scan_place> places, Make make) {
    auto& reader = ways_[way].reader;
    image_outcome x;
    try {
      reader.open(file, max_pixels_, places);
      x.pixels.resize(what.window.width * what.window.height * 3 * size_of(form.type));
      (reader.*make)(what, form, x.pixels.data());
    } catch (const bad_sample& bad) {
      x = {bad.why(), bad.what(), {}};
    }
    return x;
  }

  template <class Same>
  std::string differing(std::span<const std::byte> file, const resize_plan& what,
                        const tensor_form& form, std::span<const scan_place> places,
                        image_outcome& first, Same same) {
    std::string names;
    first = make(0, file, what, form);
    for (std::size_t i = 1; i < ways_.size(); ++i)
      if (!same(make(i, file, what, form), first))
        names += ways_[i].name + "; ";
    for (std::size_t i = 0; i < ways_.size() && !places.empty(); ++i)
      if (ways_[i].is_own && !same(make(i, file, what, form, places), first))
        names += ways_[i].name + " with places; ";
    return names;
  }

  struct way {
    way(const simd_variant& x, bool own)
        : name(x.name + (own ? " own" : " libjpeg")), is_own(own),
          reader({.own_scan_decoder = own, .transform = x.transform, .kernels = x.kernels}) {}

    std::string name;
    bool is_own;
    image_reader reader;
  };
  std::size_t max_pixels_;
  std::deque<way> ways_; // a deque, as the elements must not move
  plane_decoder planes_;
};

} // namespace leat::test
