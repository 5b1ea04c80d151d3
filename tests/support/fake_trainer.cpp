// What a trainer gives a fake device to do.

#include "tests/support/fake_device.hpp"

#include <algorithm>
#include <utility>

namespace leat::test {

device_stream fake_device::make_trainer_stream() {
  const mutex_lock lock{mutex_};
  return add_stream(true);
}

void fake_device::end_trainer_stream(device_stream x) {
  const mutex_lock lock{mutex_};
  end(x, true);
}

void fake_device::run(device_stream on, std::function<void()> kernel) {
  const mutex_lock lock{mutex_};
  stream_of(on);
  operation x;
  x.kernel = std::move(kernel);
  add(on, std::move(x));
  run_some();
}

void fake_device::read(device_stream on, const std::byte* at, std::size_t bytes,
                       std::function<void(std::span<const std::byte>)> kernel) {
  const mutex_lock lock{mutex_};
  stream_of(on);
  operation x;
  x.memory = {memory_at(at, bytes)};
  if (x.memory[0] == 0)
    return problem("a kernel that reads memory that the device has not");
  x.kernel = [at, bytes, does = std::move(kernel)] { does({at, bytes}); };
  add(on, std::move(x));
  run_some();
}

void fake_device::expect(device_stream on, const std::byte* at, std::vector<std::byte> bytes,
                         std::string what) {
  const auto n = bytes.size();
  read(on, at, n, [this, wanted = std::move(bytes), text = std::move(what)](auto found) {
    if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()))
      problem("other bytes than expected: " + text);
  });
}

void fake_device::follow(device_stream waits, device_stream other) {
  const mutex_lock lock{mutex_};
  stream_of(waits);
  stream_of(other);
  operation mark;
  mark.records = std::make_shared<place>(place{key_of(other)});
  operation wait;
  wait.waits = mark.records;
  add(other, std::move(mark));
  add(waits, std::move(wait));
  run_some();
}

void fake_device::finish(device_stream x) {
  const mutex_lock lock{mutex_};
  drain(key_of(x));
}

void fake_device::finish() {
  const mutex_lock lock{mutex_};
  while (run_any()) {
  }
}

} // namespace leat::test
