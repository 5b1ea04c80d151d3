// Makes pixels from any bytes in all ways: all give the same ones, or all call the file bad for the
// same cause.
#include "tests/fuzz/checks.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/image_ways.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace leat;
using namespace leat::test;

namespace {

constexpr std::size_t most_pixels = std::size_t{1} << 16; // keeps a run fast

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static image_ways ways(most_pixels);
  static image_reader reader;
  const auto file = std::as_bytes(std::span{data, size});
  std::mt19937 random(hash(file));
  try {
    const auto image = reader.open(file, most_pixels);
    const auto places = ways.survey(file);
    for (int i = 0; i < 2; ++i) {
      const auto plan = random_plan(image, 40, random);
      const tensor_form form{.type = i == 0 ? dtype::u8 : dtype::f32,
                             .layout = random() % 2 == 0 ? image_layout::nchw : image_layout::nhwc};
      image_outcome first;
      const auto names = ways.differing_if_damaged(file, plan, form, places, first);
      if (names.empty())
        continue;
      std::fprintf(stderr, "%s%s\nsource %zu,%zu %zux%zu of %zux%zu\n", names.c_str(),
                   first.text.c_str(), plan.source.x, plan.source.y, plan.source.width,
                   plan.source.height, image.width, image.height);
      std::abort();
    }
  } catch (const bad_sample&) {
    // What most bytes are.
  }
  return 0;
}
