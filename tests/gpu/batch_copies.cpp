#include "tests/gpu/batch_copies.hpp"

#include <cstring>
#include <stdexcept>

namespace leat::gpu_check {

comparison& comparison::operator+=(const comparison& x) {
  batches += x.batches;
  fields += x.fields;
  bytes += x.bytes;
  wrong += x.wrong;
  if (first_wrong.empty())
    first_wrong = x.first_wrong;
  return *this;
}

batch_copies::batch_copies(const driver& gpu, std::size_t capacity)
    : gpu_(gpu), found_(capacity), due_(capacity) {
  gpu_.pin(found_);
}

batch_copies::~batch_copies() {
  gpu_.unpin(found_);
}

void batch_copies::take(const batch& from, driver::stream in) {
  for (const auto& name : from.fields()) {
    if (!from.is_on_device(name))
      continue;
    const auto here = from.field(name);
    const auto there = from.device_field(name);
    take(from.global_step(), name, there.values.data, here.data, here.bytes().size(), in);
    if (here.is_ragged())
      take(from.global_step(), name + ", offsets", there.offsets, here.offsets.data(),
           here.offsets.size_bytes(), in);
  }
  ++batches_;
}

void batch_copies::take(std::uint64_t step, const std::string& name, const void* there,
                        const void* here, std::size_t bytes, driver::stream in) {
  if (used_ + bytes > due_.size())
    throw std::logic_error("no room for another batch's copies");
  gpu_.copy(found_.data() + used_, there, bytes, in);
  if (bytes > 0)
    std::memcpy(due_.data() + used_, here, bytes);
  parts_.push_back({step, name, used_, bytes});
  used_ += (bytes + 255) / 256 * 256;
}

comparison batch_copies::compare() const {
  comparison result;
  result.batches = batches_;
  for (const auto& x : parts_) {
    ++result.fields;
    result.bytes += x.bytes;
    if (x.bytes == 0 || std::memcmp(found_.data() + x.begin, due_.data() + x.begin, x.bytes) == 0)
      continue;
    ++result.wrong;
    if (result.first_wrong.empty())
      result.first_wrong = "step " + std::to_string(x.step) + ", " + x.name;
  }
  return result;
}

} // namespace leat::gpu_check
