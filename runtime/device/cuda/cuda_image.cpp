#include "runtime/device/cuda/cuda_image.hpp"

#include "runtime/device/own_folder.hpp"

#include <leat/error.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr const char* kernels_name = "libleat_cuda.so";
constexpr const char* variable_name = "LEAT_CUDA_MODULE";

std::vector<std::string> candidates() {
  const char* named = std::getenv(variable_name);
  if (named && *named)
    return {named};
  std::vector<std::string> result;
  std::error_code ignored;
  if (const auto folder = own_folder(); !folder.empty())
    for (const char* from : {"", "../lib", LEAT_LIBRARIES_FROM_PROGRAMS})
      if (const auto file = folder / from / kernels_name; fs::exists(file, ignored))
        result.push_back(file.lexically_normal());
  result.emplace_back(kernels_name);
  return result;
}

[[noreturn]] void refuse(std::string_view device, const std::string& got) {
  throw error(errc::device,
              {.stage = std::string{device},
               .got = got,
               .needed = std::string{kernels_name} + " of leat " + LEAT_VERSION
                         + ", which a build of leat with NVIDIA's compiler nvcc makes, beside leat "
                           "or where "
                         + variable_name + " says"});
}

} // namespace

const cuda_image& find_cuda_image(std::string_view device) {
  std::string why;
  for (const auto& file : candidates()) {
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* const reason = ::dlerror();
      if (why.empty())
        why = reason ? reason : file;
      continue;
    }
    const auto* const image = static_cast<const cuda_image*>(::dlsym(library, "leat_cuda_image"));
    if (!image)
      refuse(device, file + ", which has no kernels of leat");
    if (std::string_view{image->leat} != LEAT_VERSION)
      refuse(device, file + " of leat " + image->leat);
    return *image;
  }
  refuse(device, "no kernels that decode there (" + why + ")");
}

} // namespace leat
