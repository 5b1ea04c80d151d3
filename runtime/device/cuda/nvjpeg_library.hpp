#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat {

/// Where nvJPEG writes planes (nvjpegImage_t): addresses of the device, and bytes from row to row.
struct nvjpeg_image {
  unsigned char* planes[4] = {};
  std::size_t strides[4] = {};
};

/// The functions of nvJPEG that leat needs, with handles as plain pointers. They return a code, 0
/// for success. The header nvjpeg.h is not needed, and no library is linked.
struct nvjpeg_library {
  std::string file;
  /// "13.3.2"
  std::string version;
  /// The CUDA that it was made with, as cuDriverGetVersion() counts.
  int cuda = 0;
  int (*create)(int backend, void* device_memory, void* host_memory, unsigned flags,
                void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*create_state)(void* handle, void** state) = nullptr;
  int (*destroy_state)(void* state) = nullptr;
  int (*image_info)(void* handle, const unsigned char* file, std::size_t bytes, int* components,
                    int* sampling, int* widths, int* heights) = nullptr;
  int (*decode)(void* handle, void* state, const unsigned char* file, std::size_t bytes, int format,
                nvjpeg_image* to, void* stream) = nullptr;
};

/// Codes of nvJPEG.
enum nvjpeg_code : int {
  nvjpeg_success = 0,
  nvjpeg_not_initialized = 1,
  nvjpeg_allocator_failure = 5,
  nvjpeg_execution_failed = 6,
  nvjpeg_arch_mismatch = 7,
};

/// The file that LEAT_NVJPEG names, or libnvjpeg.so.13 or .so.12: as PyPI's packages put it beside
/// a module of Python that this is a part of, or where the system looks. This process opens it once
/// and keeps it. `driver`: the CUDA that it must run with. Throws `errc::device` for `device`:
/// there is none, or it lacks a function.
const nvjpeg_library& find_nvjpeg(std::string_view device, int driver);

/// "NVJPEG_STATUS_EXECUTION_FAILED"
std::string text_of_nvjpeg(int code);

} // namespace leat
