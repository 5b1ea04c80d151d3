#include "runtime/image/device/image_group.hpp"

namespace leat {

image_group::image_group(std::span<std::byte> staging, std::size_t scratch)
    : staging_(staging), scratch_(scratch) {}

void image_group::clear() {
  images_.clear();
}

image_group::added image_group::add(const group_image&) {
  why_ = cpu_reason::no_places;
  return added::no;
}

void image_group::withdraw(std::size_t number) {
  images_[number].pixels.to = nullptr;
}

device_group image_group::seal(const std::byte*, std::byte*) {
  return {};
}

} // namespace leat
