#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_jpegs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <string>

// Which nvJPEG is taken, and what is said where there is none that can be: each test looks in a
// process of its own, which opens it once.

namespace leat::nvjpeg_library_test {
namespace {

namespace fs = std::filesystem;
using test::fake_cuda_dir;
using test::run_hidden;
using test::said;
using test::say;
using test::text_of;

TEST_CASE("opens nvJPEG", "[.nvjpeg]") {
  auto device = open_cuda(0);
  say(text_of([&] { (void)device->open_jpegs(); }));
}

std::string made_up() {
  return std::string{fake_cuda_dir} + "/libnvjpeg.so.13";
}

/// By the file that LEAT_NVJPEG names.
std::string opened(const std::string& words, const std::string& file = made_up()) {
  return said(run_hidden(".nvjpeg", fake_cuda_dir,
                         "LEAT_FAKE_CUDA='" + words + "' LEAT_NVJPEG='" + file + "'"));
}

constexpr const char* needed =
    ", needed NVIDIA's nvJPEG, libnvjpeg.so.13 or .so.12: pip install nvidia-nvjpeg "
    "(nvidia-nvjpeg-cu12 for a driver of CUDA 12), or CUDA's toolkit; LEAT_NVJPEG names the file "
    "where the system does not find it";

TEST_CASE("nvjpeg_library: no library, and one that is another, are refused by name") {
  LEAT_NEEDS_FAKE_CUDA()
  CHECK(opened("") == "no error");
  CHECK(opened("", "/nowhere/x.so")
        == std::string{"device: cuda:0, got no nvJPEG here (/nowhere/x.so: cannot open shared "
                       "object file: No such file or directory)"}
               + needed);
  const auto other = std::string{fake_cuda_dir} + "/libcuda.so.1";
  CHECK(opened("", other)
        == "device: cuda:0, got " + other + ", which has no nvjpegGetProperty" + needed);
}

TEST_CASE("nvjpeg_library: one that does not start says with which versions") {
  LEAT_NEEDS_FAKE_CUDA()
  CHECK(opened("version=12040,nvjpeg_create=6")
        == "device: cuda:0, got NVJPEG_STATUS_EXECUTION_FAILED from nvjpegCreateEx of " + made_up()
               + " (nvJPEG 13.3.2, for CUDA 13.0; the driver is for CUDA 12.4), needed a driver "
                 "for CUDA 13.0 or newer (nvidia-smi shows its own), or an older nvJPEG: pip "
                 "install nvidia-nvjpeg-cu12, and LEAT_NVJPEG names the file");
  CHECK(opened("nvjpeg_cuda=12090,nvjpeg_create=7")
        == "device: cuda:0, got NVJPEG_STATUS_ARCH_MISMATCH from nvjpegCreateEx of " + made_up()
               + " (nvJPEG 13.3.2, for CUDA 12.9; the driver is for CUDA 13.0), needed a GPU and a "
                 "driver that nvJPEG can use, or decoder = \"device\", which does without it");
  CHECK(opened("nvjpeg_state=77").find("got status 77 of nvJPEG from nvjpegJpegStateCreate of")
        != std::string::npos);
}

TEST_CASE("nvjpeg_library: it is found beside a module of Python, and by the system's rules") {
  LEAT_NEEDS_FAKE_CUDA()
  const test::temporary_directory directory;
  const auto packages = fs::path{directory.path()};
  const auto program = packages / "leat" / "program";
  fs::create_directories(program.parent_path());
  fs::copy_file("/proc/self/exe", program);
  const auto found = [&](const std::string& words) {
    return said(run_hidden(".nvjpeg", fake_cuda_dir,
                           "LEAT_FAKE_CUDA='nvjpeg_create=7," + words + "'", program));
  };
  CHECK(found("").find("from nvjpegCreateEx of libnvjpeg.so.13 (") != std::string::npos);
  const auto put = [&](const fs::path& folder, const std::string& name) {
    fs::create_directories(packages / folder);
    fs::copy_file(made_up(), packages / folder / name);
    return (packages / folder / name).string();
  };
  const auto older = put("nvidia/nvjpeg/lib", "libnvjpeg.so.12");
  CHECK(found("version=12040").find("from nvjpegCreateEx of " + older + " (") != std::string::npos);
  const auto newer = put("nvidia/cu13/lib", "libnvjpeg.so.13");
  CHECK(found("").find("from nvjpegCreateEx of " + newer + " (") != std::string::npos);
  CHECK(found("version=12040").find("from nvjpegCreateEx of " + older + " (") != std::string::npos);
}

} // namespace
} // namespace leat::nvjpeg_library_test
