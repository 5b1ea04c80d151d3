#include "runtime/rows/device_decoding.hpp"

#include <algorithm>

namespace leat {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
/// All workers' together, if they share it: some 2,000 photographs.
constexpr std::size_t most_scratch = 2048 * mebibyte;

std::size_t share(std::size_t workers) {
  const auto groups = std::max<std::size_t>(workers, 1) * device_decoding::groups_of_worker;
  return std::clamp(most_scratch / groups, 32 * mebibyte, 128 * mebibyte);
}

} // namespace

device_decoding::device_decoding(std::shared_ptr<device_calls> calls_,
                                 std::shared_ptr<pinned_memory> host_, std::size_t workers,
                                 bool copies_back_)
    : calls(std::move(calls_)), host(std::move(host_)), kernels(calls->kernels()), functions{},
      copies_back(copies_back_), scratch(share(workers)), staging(scratch / 8) {
  for (std::size_t i = 0; i < num_kernels; ++i)
    functions[i] = kernels.find(name_of(static_cast<kernel>(i)));
}

} // namespace leat
