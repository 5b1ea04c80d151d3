#pragma once

#include "runtime/image/device/image_group.hpp"
#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/image/pixels/element.hpp"
#include "tests/support/group_device.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat::test {

/// A file that was surveyed, and is damaged or not.
struct surveyed_file {
  std::vector<std::byte> file;
  std::vector<scan_place> places;
  /// None: the row index's.
  std::vector<work_place> by_work;
};

/// Decodes JPEGs by kernels, a group at a time, and compares their pixels with image_reader's.
class host_decoder {
public:
  struct counts {
    /// By the device, with the same pixels.
    std::size_t equal = 0;
    /// By the device, with others, or of a file that the processor calls bad.
    std::size_t unseen = 0;
    /// Told, and the processor calls them bad, or makes the pixels itself.
    std::size_t told_bad = 0;
    std::size_t told_good = 0;
    std::array<std::size_t, num_cpu_reasons> refused{};

    std::size_t of(cpu_reason x) const { return refused[static_cast<std::size_t>(x)]; }
    std::size_t all_refused() const {
      std::size_t sum = 0;
      for (const auto n : refused)
        sum += n;
      return sum;
    }
    std::string text() const {
      std::string text = std::to_string(equal) + " equal, " + std::to_string(unseen) + " unseen, "
                         + std::to_string(told_bad + told_good) + " told (bad "
                         + std::to_string(told_bad) + "); for the processor:";
      for (std::size_t i = 0; i < refused.size(); ++i)
        text += " " + std::string{to_string(static_cast<cpu_reason>(i))} + " "
                + std::to_string(refused[i]);
      return text;
    }
  };

  explicit host_decoder(std::size_t staging = std::size_t{8} << 20,
                        std::size_t scratch = std::size_t{48} << 20)
      : device_(make_group_device({staging, scratch, most_pixels})), pixels_(most_pixels, guard),
        group_(device_->staging(), scratch) {}

  /// Whether it is the device's. `name` is shown if its pixels differ.
  bool add(const surveyed_file& from, const resize_plan& what, const tensor_form& form,
           std::string name, const erased_part* erased = nullptr,
           const color_jitter_factors* jitter = nullptr) {
    planes_.open(from.file, no_limit);
    const auto frame = planes_.scale(dct_scale_for(what));
    if (from.by_work.empty())
      as_work_places(frame, from.places, converted_);
    const auto element = size_of(form.type);
    const auto bytes = what.window.width * what.window.height * 3 * element;
    if (end_ + bytes + 2 * gap > most_pixels)
      flush();
    group_image x{.file = from.file,
                  .frame = &frame,
                  .places = from.by_work.empty() ? converted_ : from.by_work,
                  .plan = &what,
                  .form = &form,
                  .jitter = jitter,
                  .erased = erased,
                  .pixels = next_place(element)};
    auto answer = group_.add(x);
    if (answer == image_group::added::full) {
      flush();
      x.pixels = next_place(element);
      answer = group_.add(x);
    }
    if (answer != image_group::added::yes) {
      ++counts_.refused[static_cast<std::size_t>(group_.why())];
      return false;
    }
    const auto* const found = pixels_.data() + (x.pixels - device_->pixels());
    images_.push_back({std::move(name), found, bytes, make(from, what, form, jitter, bytes)});
    if (erased && images_.back().wanted)
      erase(*erased, what, form, images_.back().wanted->data());
    end_ = static_cast<std::size_t>(x.pixels - device_->pixels()) + bytes;
    return true;
  }

  /// Decodes what was added, and compares.
  void flush() {
    if (images_.empty())
      return;
    const auto launched = group_.seal(device_->copied(), device_->scratch());
    std::vector<std::uint32_t> told(images_.size());
    device_->run(launched, group_.bytes_to_copy(), {pixels_.data(), end_ + gap},
                 group_.told_offset(), told);
    const auto* end = pixels_.data();
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const auto& x = images_[i];
      if (!std::all_of(end, x.at, [](auto byte) { return byte == guard; }))
        problems_ += x.name + ": something is written before it; ";
      end = x.at + x.bytes;
      judge(x, told[i]);
    }
    if (!std::all_of(end, end + gap, [](auto byte) { return byte == guard; }))
      problems_ += "something is written behind the last one; ";
    std::fill_n(pixels_.data(), end_, guard);
    end_ = 0;
    images_.clear();
    group_.clear();
  }

  image_group& group() noexcept { return group_; }
  const counts& result() const noexcept { return counts_; }
  /// Names of images that differ and were not told, and other faults.
  const std::string& problems() const noexcept { return problems_; }

private:
  static constexpr std::size_t no_limit = std::size_t{1} << 40;
  static constexpr std::byte guard{0x5A};
  static constexpr std::size_t most_pixels = std::size_t{48} << 20;
  static constexpr std::size_t gap = 128;

  struct image {
    std::string name;
    const std::byte* at;
    std::size_t bytes;
    /// Nothing: the file is bad.
    std::optional<std::vector<std::byte>> wanted;
  };

  /// Any element's place, after a few bytes that nothing may write.
  std::byte* next_place(std::size_t element) {
    return device_->pixels() + (end_ + element - 1) / element * element
           + element * (1 + next_shift_++ % 16);
  }

  std::optional<std::vector<std::byte>> make(const surveyed_file& from, const resize_plan& what,
                                             const tensor_form& form,
                                             const color_jitter_factors* jitter,
                                             std::size_t bytes) {
    std::vector<std::byte> pixels(bytes);
    try {
      reader_.open(from.file, no_limit, from.places);
      if (jitter)
        make_adjusted(what, form, *jitter, pixels.data());
      else
        reader_.make(what, form, pixels.data());
    } catch (const bad_sample&) {
      return std::nullopt;
    }
    return pixels;
  }

  /// As image_maker does it.
  void make_adjusted(const resize_plan& what, const tensor_form& form,
                     const color_jitter_factors& jitter, std::byte* to) {
    const auto [width, height] = std::pair{what.window.width, what.window.height};
    std::vector<float> floats(3 * width * height);
    reader_.make(what, {}, reinterpret_cast<std::byte*>(floats.data()));
    const float_image image{floats.data(), width, height};
    adjust_color(image, jitter);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < width * height; ++i)
        put_element(form, 255.0 * static_cast<double>(image.plane(c)[i]), c,
                    form.layout == image_layout::nchw ? c * width * height + i : 3 * i + c, to);
  }

  static void erase(const erased_part& x, const resize_plan& what, const tensor_form& form,
                    std::byte* to) {
    const auto [width, height] = std::pair{what.window.width, what.window.height};
    for (std::size_t c = 0; c < 3; ++c)
      for (auto row = x.part.y; row < x.part.y + x.part.height; ++row)
        for (auto column = x.part.x; column < x.part.x + x.part.width; ++column)
          put_float(form.type, x.values[c],
                    form.layout == image_layout::nchw ? (c * height + row) * width + column
                                                      : (row * width + column) * 3 + c,
                    to);
  }

  void judge(const image& x, std::uint32_t told) {
    if (told != 0)
      return void(++(x.wanted ? counts_.told_good : counts_.told_bad));
    if (x.wanted && std::equal(x.wanted->begin(), x.wanted->end(), x.at))
      return void(++counts_.equal);
    if (++counts_.unseen <= 10)
      problems_ += x.name + (x.wanted ? ": other pixels; " : ": is bad; ");
  }

  std::unique_ptr<group_device> device_;
  /// The device's, as the host sees them.
  std::vector<std::byte> pixels_;
  std::size_t end_ = 0;
  std::size_t next_shift_ = 0;
  image_group group_;
  plane_decoder planes_;
  image_reader reader_;
  std::vector<work_place> converted_;
  std::vector<image> images_;
  counts counts_;
  std::string problems_;
};

} // namespace leat::test
