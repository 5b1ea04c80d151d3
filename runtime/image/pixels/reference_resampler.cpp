#include "runtime/image/pixels/reference_resampler.hpp"

#include "runtime/image/pixels/element.hpp"

#include <algorithm>

namespace leat {

pixel_rect reference_resampler::plan(const resize_plan& what) {
  what_ = what;
  columns_.plan(cut_across(what));
  rows_.plan(cut_down(what));
  const pixel_rect needed{columns_.low(), rows_.low(), columns_.high() - columns_.low(),
                          rows_.high() - rows_.low()};
  narrowed_.resize(needed.height * what.window.width * 3);
  loaded_ = 0;
  return needed;
}

void reference_resampler::load(const rgb_view& rows) {
  const auto low = columns_.low();
  auto* to = narrowed_.data() + loaded_ * what_.window.width * 3;
  for (std::size_t y = 0; y < rows.height; ++y)
    for (std::size_t x = 0; x < what_.window.width; ++x, to += 3) {
      const auto* from = rows.row(y) + 3 * (columns_.first[x] - low);
      std::fill_n(to, 3, 0.0);
      for (std::size_t t = 0; t < columns_.count[x]; ++t)
        for (std::size_t c = 0; c < 3; ++c)
          to[c] += columns_.at(x)[t] * from[3 * t + c];
    }
  loaded_ += rows.height;
}

void reference_resampler::write(const tensor_form& form, std::byte* to) const {
  const auto width = what_.window.width;
  const auto height = what_.window.height;
  const auto low = rows_.low();
  std::vector<double> row(3 * width);
  for (std::size_t y = 0; y < height; ++y) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t t = 0; t < rows_.count[y]; ++t) {
      const double* from = narrowed_.data() + (rows_.first[y] - low + t) * row.size();
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] += rows_.at(y)[t] * from[i];
    }
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        put_element(form, row[3 * x + c], c,
                    form.layout == image_layout::nchw ? (c * height + y) * width + x
                                                      : (y * width + x) * 3 + c,
                    to);
  }
}

} // namespace leat
