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

void stored_sample::write(value_writer& to) const {
  to.number(bytes_read_);
  to.flag(bad_ != nullptr);
  if (bad_) {
    to.number(static_cast<std::uint64_t>(bad_->why()));
    return to.text(bad_->what());
  }
  sample x;
  copy_to(x);
  const auto names = x.fields();
  const auto size = num_field_bytes(x, names);
  to.number(size);
  write_fields(x, names, to.room(size));
}

std::shared_ptr<const stored_sample> stored_sample::read(value_reader& from) {
  const auto bytes_read = from.number();
  if (from.flag()) {
    const auto why = static_cast<cause>(from.number(num_causes - 1));
    auto stored = std::make_shared<stored_sample>();
    stored->bytes_read_ = bytes_read;
    stored->bad_ = std::make_shared<const bad_sample>(why, std::string{from.text()});
    return stored;
  }
  sample x;
  try {
    set_fields(x, from.bytes());
  } catch (const bad_sample& problem) {
    throw torn_value(problem.what());
  }
  x.count_read(bytes_read);
  return of(x);
}

} // namespace leat
