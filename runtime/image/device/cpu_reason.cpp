#include "runtime/image/device/cpu_reason.hpp"

namespace leat {

std::string_view to_string(cpu_reason x) noexcept {
  switch (x) {
  case cpu_reason::format:
    return "no JPEG";
  case cpu_reason::not_baseline:
    return "progressive or other than baseline";
  case cpu_reason::restarts:
    return "restart markers";
  case cpu_reason::components:
    return "CMYK or unusual sampling";
  case cpu_reason::tables:
    return "unusual Huffman tables";
  case cpu_reason::no_places:
    return "no row index";
  case cpu_reason::too_large:
    return "too large for a group";
  case cpu_reason::steps:
    return "padding, a second resize, or steps after colour jitter";
  case cpu_reason::exact:
    return "exact";
  case cpu_reason::noise:
    return "erasing with noise";
  case cpu_reason::read:
    return "pixels read by a later map";
  case cpu_reason::memory:
    return "no memory on the device";
  case cpu_reason::busy:
    return "device busy";
  case cpu_reason::damage:
    return "damage";
  case cpu_reason::not_for_nvjpeg:
    return "not for nvJPEG";
  }
  return "";
}

} // namespace leat
