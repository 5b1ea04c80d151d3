#include "runtime/image/jpeg/jpeg_decoder.hpp"

#include "runtime/image/jpeg/jpeg_session.hpp"
#include "runtime/image/jpeg/open_jpeg.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat {

namespace {

/// a * b / 255, rounded.
int multiply_255(int a, int b) {
  const int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

/// Source: cmyk2rgb in Pillow's src/libImaging/Convert.c, on values that Pillow takes as inverted.
void cmyk_to_rgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  for (std::size_t i = 0; i < pixels; ++i, in += 4, out += 3) {
    const int light = in[3];
    for (int c = 0; c < 3; ++c)
      out[c] = static_cast<std::uint8_t>(light - multiply_255(255 - in[c], light));
  }
}

/// Pixels around a part that smooth upsampling looks at: one chroma sample, two pixels wide.
constexpr std::size_t margin = 2;

jpeg_session::columns widened(const pixel_rect& part, std::size_t image_width) {
  const std::size_t begin = part.x - std::min(part.x, margin);
  const std::size_t end = std::min(image_width, part.x + part.width + margin);
  return {static_cast<unsigned>(begin), static_cast<unsigned>(end - begin)};
}

} // namespace

struct jpeg_decoder::state {
  jpeg_session session;
  std::vector<std::uint8_t> strip;
  std::vector<std::uint8_t> cmyk;
  // The part in progress.
  jpeg_session::columns columns{};
  std::size_t left = 0;
  std::size_t width = 0;
  std::size_t rows_to_come = 0;

  std::size_t stride() const { return std::size_t{3} * columns.count; }

  void read_row(std::uint8_t* rgb) {
    auto* to = session.is_cmyk() ? cmyk.data() : rgb;
    if (!session.read_row(to))
      throw_bad_jpeg(session);
    if (session.is_cmyk())
      cmyk_to_rgb(cmyk.data(), columns.count, rgb);
  }
};

jpeg_decoder::jpeg_decoder() : state_(std::make_unique<state>()) {}

jpeg_decoder::~jpeg_decoder() = default;

jpeg_decoder::jpeg_decoder(jpeg_decoder&&) noexcept = default;

jpeg_decoder& jpeg_decoder::operator=(jpeg_decoder&&) noexcept = default;

image_size jpeg_decoder::open(std::span<const std::byte> file, std::size_t max_pixels) {
  open_jpeg(state_->session, file, max_pixels);
  return state_->session.size();
}

void jpeg_decoder::start(const pixel_rect& part) {
  auto& s = *state_;
  s.columns = widened(part, s.session.size().width);
  if (!s.session.start(s.columns, static_cast<unsigned>(part.y)))
    throw_bad_jpeg(s.session);
  s.left = part.x - s.columns.begin;
  s.width = part.width;
  s.rows_to_come = part.height;
  s.strip.resize(std::max(s.strip.size(), strip_rows * s.stride() + rgb_slack));
  s.cmyk.resize(s.session.is_cmyk() ? std::size_t{4} * s.columns.count : 0);
  for (auto y = s.session.next_row(); y < part.y; ++y)
    s.read_row(s.strip.data());
}

rgb_view jpeg_decoder::next_rows() {
  auto& s = *state_;
  const auto rows = std::min(strip_rows, s.rows_to_come);
  for (std::size_t y = 0; y < rows; ++y)
    s.read_row(s.strip.data() + y * s.stride());
  s.rows_to_come -= rows;
  if (s.rows_to_come == 0)
    s.session.close(); // below the part nothing is decoded
  return {s.strip.data() + 3 * s.left, s.width, rows, s.stride()};
}

} // namespace leat
