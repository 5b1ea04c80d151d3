#include "runtime/image/device/group_image.hpp"

namespace leat {

std::string_view to_string(cpu_reason x) noexcept {
  switch (x) {
  case cpu_reason::no_places:
    return "no places";
  case cpu_reason::not_baseline:
    return "not baseline";
  case cpu_reason::restarts:
    return "restart markers";
  case cpu_reason::components:
    return "components";
  case cpu_reason::tables:
    return "Huffman tables";
  case cpu_reason::too_large:
    return "too large";
  }
  return "";
}

} // namespace leat
