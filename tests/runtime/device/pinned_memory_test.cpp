#include "runtime/device/pinned_memory.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_device.hpp"

#include <leat/notice.hpp>

#include <optional>
#include <string>
#include <vector>

namespace leat::pinned_memory_test {
namespace {

using test::fake_call;
using test::fake_device;

/// Collects notices while it lives.
struct heard_notices {
  heard_notices() {
    set_notice_handler([this](const std::string& text) { texts.push_back(text); });
  }
  ~heard_notices() { set_notice_handler({}); }
  heard_notices(const heard_notices&) = delete;
  heard_notices& operator=(const heard_notices&) = delete;

  std::vector<std::string> texts;
};

TEST_CASE("pinned_memory: pages are pinned while a buffer lives") {
  const heard_notices notices;
  const auto device = std::make_shared<fake_device>();
  const auto memory = std::make_shared<pinned_memory>(device);
  {
    const huge_buffer small{100, memory};
    const huge_buffer large{std::size_t{5} << 20, memory};
    CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % 4096 == 0);
    CHECK(device->counts().pinned_bytes == 100 + (std::size_t{5} << 20));
    CHECK(large.data()[large.size() - 1] == std::byte{0});
    const huge_buffer nothing{0, memory};
    CHECK(device->counts().of(fake_call::pin) == 2);
  }
  CHECK(device->counts().pinned_bytes == 0);
  CHECK(device->counts().of(fake_call::unpin) == 2);
  CHECK(memory->is_pinned());
  CHECK(device->problems().empty());
  CHECK(notices.texts.empty());
}

TEST_CASE("pinned_memory: where the driver refuses, pages are used as they are, with one notice") {
  const heard_notices notices;
  const auto device = std::make_shared<fake_device>();
  const auto memory = std::make_shared<pinned_memory>(device);
  std::optional<huge_buffer> pinned{std::in_place, 100, memory};
  device->refuse_pins("CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  std::optional<huge_buffer> first{std::in_place, 200, memory};
  const huge_buffer second{300, memory};
  CHECK_FALSE(memory->is_pinned());
  first->data()[199] = std::byte{1};
  first.reset();
  CHECK(device->counts().of(fake_call::unpin) == 0);
  pinned.reset();
  CHECK(device->counts().of(fake_call::unpin) == 1);
  CHECK(device->problems().empty());
  CHECK(notices.texts
        == std::vector<std::string>{
            "loader: the memory of batches is not pinned, as the driver of cuda:0 refuses it "
            "(CUDA_ERROR_OUT_OF_MEMORY (out of memory)): copies take several times longer. A limit "
            "for locked memory (ulimit -l) is the usual cause"});
}

} // namespace
} // namespace leat::pinned_memory_test
