#include "runtime/image/pixels/float_resampler.hpp"

namespace leat {

void float_resampler::resize(const float_image& from, const resize_plan& what,
                             const float_image& to) {
  columns_.plan(cut_across(what));
  rows_.plan(cut_down(what));
  const auto top = rows_.low();
  narrowed_.resize((rows_.high() - top) * to.width);
  for (std::size_t c = 0; c < 3; ++c) {
    double* narrowed = narrowed_.data();
    for (auto y = top; y < rows_.high(); ++y)
      for (std::size_t x = 0; x < to.width; ++x) {
        const float* row = from.plane(c) + y * from.width + columns_.first[x];
        double sum = 0;
        for (std::size_t t = 0; t < columns_.count[x]; ++t)
          sum += columns_.at(x)[t] * static_cast<double>(row[t]);
        *narrowed++ = sum;
      }
    for (std::size_t y = 0; y < to.height; ++y)
      for (std::size_t x = 0; x < to.width; ++x) {
        const double* column = narrowed_.data() + (rows_.first[y] - top) * to.width + x;
        double sum = 0;
        for (std::size_t t = 0; t < rows_.count[y]; ++t)
          sum += rows_.at(y)[t] * column[t * to.width];
        to.plane(c)[y * to.width + x] = static_cast<float>(sum);
      }
  }
}

} // namespace leat
