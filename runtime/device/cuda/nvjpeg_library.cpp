#include "runtime/device/cuda/nvjpeg_library.hpp"

#include "runtime/device/own_folder.hpp"

#include <leat/error.hpp>

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr const char* variable_name = "LEAT_NVJPEG";

struct known_library {
  int major;
  const char* name;
  /// From the folder of a module of Python.
  const char* in_packages;
};
constexpr std::array<known_library, 2> known_libraries{
    {{13, "libnvjpeg.so.13", "../nvidia/cu13/lib"},
     {12, "libnvjpeg.so.12", "../nvidia/nvjpeg/lib"}}};

/// The newest first that the driver can run.
std::vector<std::string> candidates(int driver) {
  const char* const named = std::getenv(variable_name);
  if (named && *named)
    return {named};
  auto known = known_libraries;
  if (driver / 1000 < known[0].major)
    std::swap(known[0], known[1]);
  const auto folder = own_folder();
  std::vector<std::string> result;
  std::error_code ignored;
  for (const auto& x : known) {
    const auto file = (folder / x.in_packages / x.name).lexically_normal();
    if (!folder.empty() && std::filesystem::exists(file, ignored))
      result.push_back(file);
    result.emplace_back(x.name);
  }
  return result;
}

[[noreturn]] void refuse(const std::string& device, std::string got) {
  throw error(errc::device,
              {.stage = device,
               .got = std::move(got),
               .needed = "NVIDIA's nvJPEG, libnvjpeg.so.13 or .so.12: pip install nvidia-nvjpeg "
                         "(nvidia-nvjpeg-cu12 for a driver of CUDA 12), or CUDA's toolkit; "
                         + std::string{variable_name}
                         + " names the file where the system does not find it"});
}

template <class Function>
void find(void* library, const std::string& device, const std::string& file, Function*& to,
          const char* name) {
  to = reinterpret_cast<Function*>(::dlsym(library, name));
  if (!to)
    refuse(device, file + ", which has no " + name);
}

/// Its version, or CUDA's: major, minor and patch level (libraryPropertyType).
std::array<int, 3> version_by(int (*property)(int which, int* value)) {
  std::array<int, 3> x{};
  for (std::size_t i = 0; i < x.size(); ++i)
    if (property(static_cast<int>(i), &x[i]) != nvjpeg_success)
      x[i] = 0;
  return x;
}

nvjpeg_library read(void* library, const std::string& file, const std::string& device) {
  nvjpeg_library x;
  x.file = file;
  int (*own)(int, int*) = nullptr;
  int (*of_cuda)(int, int*) = nullptr;
  find(library, device, file, own, "nvjpegGetProperty");
  find(library, device, file, of_cuda, "nvjpegGetCudartProperty");
  find(library, device, file, x.create, "nvjpegCreateEx");
  find(library, device, file, x.destroy, "nvjpegDestroy");
  find(library, device, file, x.create_state, "nvjpegJpegStateCreate");
  find(library, device, file, x.destroy_state, "nvjpegJpegStateDestroy");
  find(library, device, file, x.image_info, "nvjpegGetImageInfo");
  find(library, device, file, x.decode, "nvjpegDecode");
  const auto version = version_by(own);
  x.version = std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.'
              + std::to_string(version[2]);
  const auto cuda = version_by(of_cuda);
  x.cuda = cuda[0] * 1000 + cuda[1] * 10;
  return x;
}

nvjpeg_library load(const std::string& device, int driver) {
  std::string why;
  for (const auto& file : candidates(driver)) {
    if (void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return read(library, file, device); // never closed: its threads run to the process's end
    const char* const reason = ::dlerror();
    if (why.empty())
      why = reason ? reason : file;
  }
  refuse(device, "no nvJPEG here (" + why + ")");
}

} // namespace

const nvjpeg_library& find_nvjpeg(std::string_view device, int driver) {
  static const auto library = load(std::string{device}, driver); // tried again after a failure
  return library;
}

std::string text_of_nvjpeg(int code) {
  constexpr std::array<const char*, 11> names{"SUCCESS",
                                              "NOT_INITIALIZED",
                                              "INVALID_PARAMETER",
                                              "BAD_JPEG",
                                              "JPEG_NOT_SUPPORTED",
                                              "ALLOCATOR_FAILURE",
                                              "EXECUTION_FAILED",
                                              "ARCH_MISMATCH",
                                              "INTERNAL_ERROR",
                                              "IMPLEMENTATION_NOT_SUPPORTED",
                                              "INCOMPLETE_BITSTREAM"};
  const auto i = static_cast<std::size_t>(code);
  return i < names.size() ? std::string{"NVJPEG_STATUS_"} + names[i]
                          : "status " + std::to_string(code) + " of nvJPEG";
}

} // namespace leat
