#include "runtime/sample/stored_sample.hpp"

#include "runtime/sample/sample_access.hpp"

#include <algorithm>

namespace leat {

std::shared_ptr<const stored_sample> stored_sample::of(sample& x) {
  auto stored = std::make_shared<stored_sample>();
  for (auto& layout : sample_access::fields(x)) {
    const auto bytes = x.bytes(layout.name);
    stored->fields_.push_back({std::move(layout), {bytes.begin(), bytes.end()}});
  }
  stored->bytes_read_ = sample_access::take_bytes_read(x);
  return stored;
}

std::shared_ptr<const stored_sample> stored_sample::of(const bad_sample& x) {
  auto stored = std::make_shared<stored_sample>();
  stored->bad_ = std::make_shared<const bad_sample>(x);
  return stored;
}

void stored_sample::copy_to(sample& into) const {
  into.count_read(bytes_read_);
  if (bad_)
    throw bad_sample(*bad_);
  for (const auto& [layout, bytes] : fields_)
    if (layout.ragged)
      std::copy(bytes.begin(), bytes.end(),
                into.make_ragged(layout.name, layout.type, bytes.size() / layout.unit_bytes(),
                                 layout.dims));
    else
      std::copy(bytes.begin(), bytes.end(),
                into.make_tensor(layout.name, layout.type, layout.dims));
}

} // namespace leat
