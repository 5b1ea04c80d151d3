#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/cuda/cuda_image.hpp"
#include "runtime/device/device_kernels.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace leat::cuda_kernels_test {
namespace {

namespace fs = std::filesystem;
using test::driver_device;
using test::fake_cuda_dir;
using test::run_hidden;
using test::said;
using test::say;
using test::text_of;

/// Data that stands for kernels, for architectures 75, 80 and 90, made by CUDA 13.0.
std::string made_up_kernels() {
  return std::string{fake_cuda_dir} + "/libleat_cuda.so";
}

TEST_CASE("loads kernels", "[.kernels]") {
  auto device = open_cuda(0);
  say(text_of([&] { device->kernels(); }));
}

std::string loaded(const std::string& words, const std::string& file = made_up_kernels()) {
  return said(run_hidden(".kernels", fake_cuda_dir,
                         "LEAT_FAKE_CUDA='" + words + "' LEAT_CUDA_MODULE='" + file + "'"));
}

TEST_CASE("cuda_kernels: kernels that the driver does not take are refused by what it can do") {
  LEAT_NEEDS_FAKE_CUDA()
  CHECK(loaded("") == "no error");
  CHECK(loaded("version=13020") == "no error");
  CHECK(loaded("version=12040") == "no error"); // it may take them
  CHECK(loaded("module=209,capability=70")
        == "device: cuda:0, got a GPU of architecture 70, and kernels that decode there for 75 80 "
           "90 and newer than 90, needed a GPU of one of these, or a libleat_cuda.so that was made "
           "for 70");
  CHECK(loaded("module=222,capability=130")
        == "device: cuda:0, got a GPU of architecture 130, for which the kernels that decode there "
           "(75 80 90) are compiled by the driver, and a driver for CUDA 13.0, which does not take "
           "what CUDA 13.0 has made, needed a driver for CUDA 13.0 or newer (nvidia-smi shows its "
           "own), or a libleat_cuda.so that was made for 130");
  const std::string old =
      "device: cuda:0, got a driver for CUDA 12.4, which does not take the kernels that decode "
      "there, made by CUDA 13.0, needed a driver for CUDA 13.0 or newer (nvidia-smi shows its "
      "own), or a libleat_cuda.so that was made by an older CUDA";
  for (const std::string code : {"200", "209", "218", "222"})
    CHECK(loaded("version=12040,module=" + code) == old);
  CHECK(loaded("version=12040,module=2")
            .starts_with("no resources: cuda:0, got "
                         "CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK(loaded("module=200")
            .starts_with("device: cuda:0, got CUDA_ERROR_INVALID_IMAGE (device "
                         "kernel image is invalid) from cuModuleLoadData, needed"));
}

// -- where they are

/// leat's own, as that library has it.
std::string version() {
  void* const library = ::dlopen(made_up_kernels().c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  return static_cast<const cuda_image*>(::dlsym(library, "leat_cuda_image"))->leat;
}

std::string other_version() {
  return '9' + version().substr(1);
}

std::string needed() {
  return ", needed libleat_cuda.so of leat " + version()
         + ", which a build of leat with NVIDIA's compiler nvcc makes, beside leat or where "
           "LEAT_CUDA_MODULE says";
}

/// The library of another version of leat.
void make_other(const fs::path& at) {
  auto content = test::content_of(made_up_kernels());
  const auto text = version() + '\0';
  const auto found = content.find('\0' + text);
  REQUIRE(found != std::string::npos);
  content[found + 1] = '9';
  fs::create_directories(at.parent_path());
  test::write_content(at, content);
}

TEST_CASE("cuda_kernels: a file without leat's kernels is refused by its name") {
  LEAT_NEEDS_FAKE_CUDA()
  const test::temporary_directory directory;
  const auto file = directory.path() + "/x.so";
  CHECK(loaded("", file)
        == "device: cuda:0, got no kernels that decode there (" + file
               + ": cannot open shared object file: No such file or directory)" + needed());
  make_other(file);
  CHECK(loaded("", file)
        == "device: cuda:0, got " + file + " of leat " + other_version() + needed());
  const auto driver = std::string{fake_cuda_dir} + "/libcuda.so.1";
  CHECK(loaded("", driver)
        == "device: cuda:0, got " + driver + ", which has no kernels of leat" + needed());
}

TEST_CASE("cuda_kernels: they are looked for beside the program, and in the folder for libraries") {
  LEAT_NEEDS_FAKE_CUDA()
  const test::temporary_directory directory;
  const auto program = fs::path{directory.path()} / "bin" / "program";
  fs::create_directories(program.parent_path());
  fs::copy_file("/proc/self/exe", program);
  const auto found = [&] { return said(run_hidden(".kernels", fake_cuda_dir, "", program)); };
  CHECK(found() == "no error"); // by the system's rules, here LD_LIBRARY_PATH
  const auto folder = fs::path{directory.path()};
  make_other(folder / "lib" / "libleat_cuda.so");
  const auto text = [&](const fs::path& file) {
    return "device: cuda:0, got " + file.string() + " of leat " + other_version() + needed();
  };
  CHECK(found() == text(folder / "lib" / "libleat_cuda.so"));
  make_other(folder / "bin" / "libleat_cuda.so");
  CHECK(found() == text(folder / "bin" / "libleat_cuda.so"));
}

// -- calls

TEST_CASE("calls kernels", "[.launches]") {
  constexpr std::size_t n = 1024;
  auto device = open_cuda(1);
  auto& fake = driver_device(1);
  std::array<std::uint64_t, 2> seen{};
  fake.define("note", [&](std::span<const std::byte> argument) {
    REQUIRE(argument.size() == sizeof seen);
    std::memcpy(seen.data(), argument.data(), sizeof seen);
  });
  const huge_buffer pages{4096};
  CHECK(device->pin(pages.data(), pages.size()) == std::nullopt);
  auto* const memory = device->allocate(2 * n);
  const auto stream = device->make_stream();
  const auto mark = device->make_event();

  auto& kernels = device->kernels();
  CHECK(&device->kernels() == &kernels);
  const auto note = kernels.find("note");
  CHECK(text_of([&] { kernels.find("twist"); })
            .starts_with("device: cuda:1, got CUDA_ERROR_NOT_FOUND (named symbol not found) from "
                         "cuModuleGetFunction"));

  const auto bytes = test::bytes_of_batch(1, n);
  std::copy(bytes.begin(), bytes.end(), pages.data());
  device->copy(memory, pages.data(), n, stream);
  kernels.copy_within(memory + n, memory, n, stream);
  kernels.clear(memory, n / 8, stream);
  const std::array<std::uint64_t, 2> argument{7, 8};
  kernels.launch({.kernel = note, .grid = {3, 2, 1}, .threads = 64, .shared_bytes = 100},
                 std::as_bytes(std::span{argument}), stream);
  kernels.copy_back(pages.data() + n, memory, 2 * n, stream);
  device->record(mark, stream);
  CHECK(seen == std::array<std::uint64_t, 2>{}); // the fake driver is lazy
  device->wait_here(mark);
  CHECK(seen == argument);
  const auto* const back = pages.data() + n;
  CHECK(std::vector<std::byte>(back, back + n / 2) == std::vector<std::byte>(n / 2));
  CHECK(std::equal(bytes.begin() + n / 2, bytes.end(), back + n / 2));
  CHECK(std::equal(bytes.begin(), bytes.end(), back + n));

  const auto invalid = [&](const device_launch& x) {
    return text_of([&] { kernels.launch(x, {}, stream); });
  };
  CHECK(invalid({.kernel = note, .threads = 1025})
            .starts_with("device: cuda:1, got CUDA_ERROR_INVALID_HANDLE (invalid resource handle) "
                         "from cuLaunchKernel, needed"));
  CHECK(fake.problems().size() == 1); // and no other
  device->end_event(mark);
  device->end_stream(stream);
  device->release(memory);
  device->unpin(pages.data());
  device.reset();
}

TEST_CASE("cuda_kernels: every call goes to the driver, with the device's context, while others "
          "capture graphs") {
  LEAT_NEEDS_FAKE_CUDA()
  const std::string capturing = GENERATE("0", "1");
  const auto x = run_hidden(".launches", fake_cuda_dir,
                            "LEAT_FAKE_CUDA=devices=2,mode=lazy,capturing=" + capturing);
  CAPTURE(x.output);
  CHECK(x.output.ends_with("fake cuda:1: a kernel that there is not, or with more or less threads "
                           "than a device has\n"));
  CHECK(x.output.find("All tests passed") != std::string::npos);
  CHECK(x.code == 86);
}

} // namespace
} // namespace leat::cuda_kernels_test
