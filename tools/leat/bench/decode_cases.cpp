#include "tools/leat/bench/decode_cases.hpp"

#include <leat/bad_sample.hpp>
#include <leat/image.hpp>
#include <leat/rng.hpp>

#include "tools/leat/bench/plain_image.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace leat::command {

namespace {

resize_plan plan_of(const image_size& image, decode_transform transform, std::uint64_t number) {
  const image_options options{.size = pixels_across};
  if (transform == decode_transform::eval)
    return eval_image_plan(image, options);
  rng random{0, number};
  return train_image_plan(image, random, options);
}

/// Whether a file begins as JPEGs do: with the markers of a start and of another segment.
bool is_jpeg(std::span<const std::byte> file) {
  constexpr std::array mark{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  return file.size() >= mark.size() && std::equal(mark.begin(), mark.end(), file.begin());
}

/// The first field that is a JPEG.
std::optional<std::string> jpeg_field(const sample& x) {
  for (const auto& name : x.fields())
    if (is_jpeg(x.bytes(name)))
      return name;
  return std::nullopt;
}

/// Throws `bad_sample` for a file that some way cannot decode: libjpeg may fail on damage below the
/// crop, which leat does not read.
decode_case case_of(const sample& from, const std::string& field, decode_transform transform,
                    std::uint64_t number) {
  const tensor_form form{.type = dtype::u8};
  std::vector<std::byte> pixels(3 * pixels_across * pixels_across);
  const auto file = from.bytes(field);
  image_decoder usual;
  decode_case x{{file.begin(), file.end()}, plan_of(usual.open(from, field), transform, number)};
  x.indexed = usual.knows_rows();
  x.decode(usual, false, form, pixels);
  const bool is_taken = usual.used_own_decoder();
  image_decoder exact{{.exact = true}};
  x.decode(exact, false, form, pixels);
  plain_image plain;
  plain.open(x.file);
  plain.make(x.what, form, pixels.data());
  x.rows = find_jpeg_rows(x.file);
  x.is_own = is_taken && !x.rows.empty();
  return x;
}

} // namespace

void decode_case::decode(image_decoder& by, bool with_rows, const tensor_form& form,
                         std::span<std::byte> to) const {
  by.open(file, with_rows ? std::span{rows} : std::span<const std::byte>{});
  by.make(what, form, to.first(3 * what.window.width * what.window.height * size_of(form.type)));
}

decode_cases load_cases(const source& data, decode_transform transform, std::size_t most) {
  const auto records = data.size();
  const auto count = std::min<std::uint64_t>(records, most);
  decode_cases result;
  for (std::uint64_t i = 0; i < count; ++i)
    try {
      sample x;
      data.read(i * records / count, x);
      if (const auto name = jpeg_field(x))
        result.images.push_back(case_of(x, *name, transform, i));
    } catch (const bad_sample&) {
      ++result.bad;
    }
  return result;
}

double mean_bytes(const decode_cases& x) {
  double sum = 0;
  for (const auto& image : x.images)
    sum += static_cast<double>(image.file.size());
  return x.images.empty() ? 0 : sum / static_cast<double>(x.images.size());
}

} // namespace leat::command
