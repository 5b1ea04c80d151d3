#pragma once

#include "runtime/base/huge_buffer.hpp"

#include <leat/image_decoder.hpp>

#include "tools/leat/bench/decode_cases.hpp"
#include "tools/leat/bench/plain_image.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace leat::command {

/// How pixels can be made of a JPEG.
enum class decode_way {
  /// Decodes as a plain C++ program does.
  plain,
  /// The exact way: the reference.
  exact,
  /// Planes by libjpeg-turbo, then leat's resampler.
  libjpeg,
  /// Planes by leat's own decoder.
  own,
  /// leat's own decoder, which is told where the rows begin.
  own_with_places,
};

inline constexpr std::array decode_ways{decode_way::plain, decode_way::exact, decode_way::libjpeg,
                                        decode_way::own, decode_way::own_with_places};

const char* name_of(decode_way x);

/// Memory for images, written in a circle, as a thread writes a loader's batches.
class image_ring {
public:
  image_ring() : memory_(images * image_bytes) {}
  /// Room for one image of any type.
  std::span<std::byte> next() {
    return {memory_.data() + next_++ % images * image_bytes, image_bytes};
  }

private:
  static constexpr std::size_t images = 64;
  static constexpr std::size_t image_bytes = 3 * pixels_across * pixels_across * sizeof(float);

  huge_buffer memory_;
  std::size_t next_ = 0;
};

/// What one thread needs to decode in every way.
class decode_worker {
public:
  decode_worker();
  /// The plain way makes floats of 32 bits where `form` has others.
  void make(decode_way by, const decode_case& x, const tensor_form& form);

private:
  plain_image plain_;
  image_decoder exact_;
  image_decoder libjpeg_;
  image_decoder own_;
  image_ring ring_;
};

using decode_workers = std::vector<std::unique_ptr<decode_worker>>;

decode_workers make_workers(std::size_t threads);

/// Decodes all images once, with the first workers, each in a thread of its own. Returns seconds.
double decode_all(decode_way by, const std::vector<decode_case>& images, const tensor_form& form,
                  const decode_workers& workers, std::size_t threads);

} // namespace leat::command
