#include "runtime/sample/batch_layout.hpp"

#include <algorithm>
#include <utility>

namespace leat {

std::string to_string(const field_layout& x) {
  if (x.is_bytes())
    return x.name + " bytes";
  return x.name + (x.ragged ? " ragged " : " ") + std::string{to_string(x.type)} + " "
         + to_string(x.dims);
}

batch_layout::batch_layout(std::vector<field_layout> fields) : fields_(std::move(fields)) {
  std::sort(fields_.begin(), fields_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

std::size_t batch_layout::find(std::string_view name) const noexcept {
  std::size_t i = 0;
  while (i < fields_.size() && fields_[i].name != name)
    ++i;
  return i;
}

} // namespace leat
