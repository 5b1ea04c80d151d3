#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_slot.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_directory.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace leat::cuda_device_test {
namespace {

using test::driver_device;
using test::fake_cuda_dir;
using test::run_hidden;
using test::said;
using test::say;
using test::text_of;

// -- refusals

TEST_CASE("opens a device", "[.opens]") {
  const std::string which = std::getenv("LEAT_TEST_DEVICE");
  say(text_of([&] {
    if (which == "none")
      check_cuda_driver();
    else
      open_cuda(std::stoi(which));
  }));
}

std::string opened(const std::string& which, const std::string& driver,
                   const std::string& words = {}) {
  return said(run_hidden(".opens", driver,
                         "LEAT_TEST_DEVICE=" + which + " LEAT_FAKE_CUDA='" + words + "'"));
}

TEST_CASE("cuda_device: a driver that is missing, too old or not whole is refused by its name") {
  LEAT_NEEDS_FAKE_CUDA()
  const std::string device = GENERATE("none", "0");
  const test::temporary_directory directory; // hides a driver that this machine may have
  std::ofstream{directory / "libcuda.so.1"} << "none";
  CHECK(opened(device, directory.path())
        == "device: cuda, got no driver for CUDA here (" + directory.path()
               + "/libcuda.so.1: file too short), needed NVIDIA's driver for CUDA 11.0 or newer, "
                 "which a container has to be given, too");
  CHECK(opened(device, fake_cuda_dir, "version=10020")
        == "device: cuda, got a driver for CUDA 10.2, needed NVIDIA's driver for CUDA 11.0 or "
           "newer");
  CHECK(opened(device, std::string{fake_cuda_dir} + "/old")
        == "device: cuda, got a driver for CUDA 11.4 without cuInit, needed NVIDIA's driver for "
           "CUDA 11.0 or newer, with all its functions");
  CHECK(opened(device, fake_cuda_dir, "version=11000") == "no error");
}

TEST_CASE("cuda_device: a device that is not there is refused by its number") {
  LEAT_NEEDS_FAKE_CUDA()
  const std::string needed = ", needed a GPU that this process sees: nvidia-smi lists them, and "
                             "CUDA_VISIBLE_DEVICES and containers hide some";
  CHECK(opened("0", fake_cuda_dir, "devices=0") == "device: cuda:0, got no GPU here" + needed);
  CHECK(opened("3", fake_cuda_dir, "devices=2")
        == "device: cuda:3, got cuda:3, and 2 GPUs" + needed);
  CHECK(opened("1", fake_cuda_dir, "") == "device: cuda:1, got cuda:1, and 1 GPU" + needed);
  CHECK(opened("1", fake_cuda_dir, "devices=2") == "no error");
  CHECK(opened("none", fake_cuda_dir, "devices=0") == "no error"); // nobody looked
}

const std::string of_fork =
    "device: cuda:0, got CUDA was started before this process was forked, which ends its use here, "
    "needed a fork before the first batch on a device and before all other work on it, or "
    "processes that are not forked (multiprocessing's \"spawn\")";

TEST_CASE("cuda_device: a start of CUDA that fails says what the driver says") {
  LEAT_NEEDS_FAKE_CUDA()
  const auto text = [](const std::string& reason) {
    return "device: cuda:0, got " + reason
           + " as CUDA started, needed a GPU and a driver that work (nvidia-smi)";
  };
  CHECK(opened("0", fake_cuda_dir, "cuinit=802")
        == text("CUDA_ERROR_SYSTEM_NOT_READY (system not yet initialized)"));
  CHECK(opened("0", fake_cuda_dir, "cuinit=999") == text("CUDA_ERROR_UNKNOWN (unknown error)"));
  CHECK(opened("0", fake_cuda_dir, "cuinit=12345") == text("error 12345 of CUDA's driver"));
  CHECK(opened("0", fake_cuda_dir, "cuinit=3") == of_fork); // somebody else's start
}

TEST_CASE("starts CUDA and forks", "[.forks]") {
  check_cuda_driver();
  const auto in_child = [](auto function) {
    std::cout.flush();
    const auto child = ::fork();
    if (child == 0) {
      function();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(in_child([] { // a fork before CUDA starts, which a look for the driver does not
          ::_exit(text_of([] { open_cuda(0); }) == "no error" ? 10 : 11);
        })
        == 10);
  auto device = open_cuda(0);
  auto* const memory = device->allocate(100);
  CHECK(in_child([&] {
          say(text_of([] { open_cuda(0); }));
          const auto text = text_of([&] { device->allocate(100); });
          device->release(memory); // does nothing
          device.reset();
          ::_exit(text == of_fork ? 10 : 11);
        })
        == 10);
  device->release(memory);
}

TEST_CASE("cuda_device: a child of a fork after CUDA started is told so") {
  LEAT_NEEDS_FAKE_CUDA()
  const auto x = run_hidden(".forks", fake_cuda_dir, "");
  CHECK(x.code == 0);
  CHECK(said(x) == of_fork);
}

// -- calls

TEST_CASE("calls the driver", "[.calls]") {
  auto device = open_cuda(1);
  CHECK(device->name() == "cuda:1");
  CHECK(device->number() == 1);
  auto& fake = driver_device(1);

  const huge_buffer pages{8192};
  CHECK(device->pin(pages.data(), pages.size()) == std::nullopt);
  CHECK(fake.counts().pinned_bytes == 8192);
  CHECK(device->pin(pages.data(), 4096)
        == "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (part or all of the requested memory range "
           "is already mapped)");
  const std::string words = std::getenv("LEAT_FAKE_CUDA");
  ::setenv("LEAT_FAKE_CUDA", (words + ",pin=801").c_str(), 1);
  CHECK(device->pin(pages.data(), 4096) == "CUDA_ERROR_NOT_SUPPORTED (operation not supported)");

  auto* const memory = device->allocate(4096);
  CHECK(text_of([&] { device->allocate(99'000); })
        == "no resources: cuda:1, got no memory of the device for 99000 bytes of batches: 95904 of "
           "100000 are free, needed a smaller batch, fewer leases, fewer device_fields, or less "
           "memory in other use there");

  const auto stream = device->make_stream();
  CHECK(fake.counts().streams == 1); // lowest priority, waits for no other
  const auto mark = device->make_event();
  CHECK(device->is_reached(mark));
  const auto bytes = test::bytes_of_batch(1, 4096);
  std::copy(bytes.begin(), bytes.end(), pages.data());
  device->copy(memory, pages.data(), 4096, stream);
  device->record(mark, stream);
  CHECK_FALSE(device->is_reached(mark)); // the fake driver is lazy
  const auto trainer = fake.make_trainer_stream();
  std::thread{[&] { device->wait(trainer, mark); }}.join();
  fake.expect(trainer, memory, bytes, "by a trainer");
  fake.finish(trainer);
  std::thread{[&] { CHECK(device->is_reached(mark)); }}.join();
  CHECK(std::equal(bytes.begin(), bytes.end(), memory));

  device->copy(memory, pages.data() + 4096, 4096, stream);
  device->record(mark, stream);
  device->wait_here(mark);
  CHECK(memory[0] == std::byte{0});
  device->copy(memory, pages.data(), 4096, stream);
  device->wait_for_all();
  CHECK(memory[0] == bytes[0]);
  CHECK(fake.counts().unpinned_copies == 0);

  CHECK(text_of([&] { device->wait({reinterpret_cast<void*>(3)}, mark); })
        == "device: cuda:1, got CUDA_ERROR_INVALID_HANDLE (invalid resource handle) from "
           "cuStreamWaitEvent, needed a GPU on which no earlier work of this process has failed: "
           "CUDA_LAUNCH_BLOCKING=1 shows which did");
  device->end_event(mark);
  device->end_stream(stream);
  device->release(memory);
  device->unpin(pages.data());
  const auto left = fake.counts();
  CHECK(left.device_bytes + left.pinned_bytes + left.streams + left.events == 0);
  CHECK(fake.problems() == std::vector<std::string>{});
}

TEST_CASE("cuda_device: every call goes to the driver, with the device's context, while others "
          "capture graphs") {
  LEAT_NEEDS_FAKE_CUDA()
  const std::string capturing = GENERATE("0", "1");
  const auto x =
      run_hidden(".calls", fake_cuda_dir,
                 "LEAT_FAKE_CUDA=devices=2,mode=lazy,memory=100000,capturing=" + capturing);
  CAPTURE(x.output);
  CHECK(x.code == 0);
}

TEST_CASE("copies batches by the driver", "[.batches]") {
  auto device = open_cuda(0);
  auto& fake = driver_device(0);
  const auto host = std::make_shared<pinned_memory>(device);
  const auto copies = device->make_stream();
  {
    constexpr std::size_t n = 1000;
    const huge_buffer pages{n, host}; // outlives what is copied from it
    device_slot slot{device, host, {{.dense_bytes = n}, {.is_ragged = true}}};
    const auto trainer = fake.make_trainer_stream();
    for (std::uint64_t batch = 1; batch <= 50; ++batch) {
      if (!slot.is_copied())
        slot.wait_until_copied();
      const auto bytes = test::bytes_of_batch(batch, n);
      std::copy(bytes.begin(), bytes.end(), pages.data());
      slot.begin(copies);
      slot.copy(0, {pages.data(), n});
      slot.copy(1, bytes, std::vector<std::uint64_t>{0, n});
      slot.end();
      slot.lend();
      for (const auto in : {trainer, device_stream{}}) {
        slot.make_wait(in);
        fake.expect(in, slot.data(0), bytes, "dense");
        fake.expect(in, slot.data(1), bytes, "ragged");
      }
      std::thread{[&] { slot.fence(); }}.join();
    }
  }
  device->end_stream(copies);
  fake.finish();
  const auto left = fake.counts();
  CHECK(left.device_bytes + left.pinned_bytes + left.streams + left.events == 0);
  CHECK(fake.problems() == std::vector<std::string>{});
  device->release(reinterpret_cast<std::byte*>(16)); // the fake driver tells of this at the end
}

TEST_CASE("cuda_device: batches are copied by the driver, which looks for errors of its use") {
  LEAT_NEEDS_FAKE_CUDA()
  const std::string mode = GENERATE("eager", "lazy", "random,seed=1", "random,seed=2");
  const auto x = run_hidden(".batches", fake_cuda_dir, "LEAT_FAKE_CUDA=mode=" + mode);
  CAPTURE(x.output);
  CHECK(x.output.ends_with("fake cuda:0: memory is released that is not held\n"));
  CHECK(x.output.find("All tests passed") != std::string::npos);
  CHECK(x.code == 86);
}

TEST_CASE("loses the device", "[.loses]") {
  auto device = open_cuda(0);
  const auto stream = device->make_stream();
  auto* const memory = device->allocate(100);
  const auto bytes = test::bytes_of_batch(1, 100);
  device->copy(memory, bytes.data(), 100, stream);
  const std::string reason =
      "device: cuda:0, got CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered) "
      "from ";
  CHECK(text_of([&] {
          device->copy(memory, bytes.data(), 100, stream);
        }).starts_with(reason + "cuMemcpyHtoDAsync, needed"));
  CHECK(text_of([&] { device->make_event(); }).starts_with(reason + "cuEventCreate"));
  CHECK(text_of([&] { device->wait_for_all(); }).starts_with(reason + "cuCtxSynchronize"));
  CHECK(device->pin(memory, 100)->starts_with("CUDA_ERROR_ILLEGAL_ADDRESS"));
  device->release(memory);
  device->end_stream(stream);
}

TEST_CASE("cuda_device: a device that is lost says so at each call, and ends in peace") {
  LEAT_NEEDS_FAKE_CUDA()
  const auto x = run_hidden(".loses", fake_cuda_dir, "LEAT_FAKE_CUDA=lost=2");
  CAPTURE(x.output);
  CHECK(x.code == 0);
}

TEST_CASE("cuda_device: a build without CUDA says so") {
  if (!std::string{fake_cuda_dir}.empty())
    return; // this one has it
  const std::string text = "device: cuda, got leat was built without CUDA (LEAT_CUDA=OFF), needed "
                           "a build with LEAT_CUDA=AUTO";
  CHECK(text_of([] { check_cuda_driver(); }) == text);
  CHECK(text_of([] { open_cuda(0); }) == text);
}

} // namespace
} // namespace leat::cuda_device_test
