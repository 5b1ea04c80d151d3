#pragma once

#include <cstddef>
#include <string>

namespace leat {

/// The functions of CUDA's driver that leat needs, with handles (CUcontext, CUstream, CUfunction)
/// as plain pointers. They return a code, 0 for success. The header cuda.h is not needed, and no
/// library is linked.
struct cuda_driver {
  /// As cuDriverGetVersion() counts: 11040 is CUDA 11.4.
  int version = 0;
  int (*init)(unsigned flags) = nullptr;
  int (*get_error_name)(int code, const char** text) = nullptr;
  int (*get_error_string)(int code, const char** text) = nullptr;
  int (*device_count)(int* n) = nullptr;
  int (*device_get)(int* device, int number) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;

  struct context_calls {
    int (*retain)(void** context, int device) = nullptr;
    int (*release)(int device) = nullptr;
    int (*push)(void* context) = nullptr;
    int (*pop)(void** context) = nullptr;
    int (*synchronize)() = nullptr;
    int (*priorities)(int* lowest, int* highest) = nullptr;
    /// Of the calling thread: takes the new one, and leaves the old one there.
    int (*exchange_capture_mode)(int* mode) = nullptr;
  } context;

  struct memory_calls {
    int (*host_register)(void* pages, std::size_t bytes, unsigned flags) = nullptr;
    int (*host_unregister)(void* pages) = nullptr;
    int (*allocate)(unsigned long long* at, std::size_t bytes) = nullptr;
    int (*free)(unsigned long long at) = nullptr;
    int (*info)(std::size_t* free, std::size_t* total) = nullptr;
    int (*copy)(unsigned long long to, const void* from, std::size_t bytes, void* stream) = nullptr;
    int (*copy_back)(void* to, unsigned long long from, std::size_t bytes, void* stream) = nullptr;
    int (*copy_within)(unsigned long long to, unsigned long long from, std::size_t bytes,
                       void* stream) = nullptr;
    int (*fill)(unsigned long long at, unsigned word, std::size_t words, void* stream) = nullptr;
  } memory;

  struct stream_calls {
    int (*create)(void** stream, unsigned flags, int priority) = nullptr;
    int (*destroy)(void* stream) = nullptr;
    int (*wait_event)(void* stream, void* event, unsigned flags) = nullptr;
  } stream;

  struct event_calls {
    int (*create)(void** event, unsigned flags) = nullptr;
    int (*destroy)(void* event) = nullptr;
    int (*record)(void* event, void* stream) = nullptr;
    int (*query)(void* event) = nullptr;
    int (*synchronize)(void* event) = nullptr;
  } event;

  struct kernel_calls {
    int (*load)(void** module, const void* image) = nullptr;
    int (*unload)(void* module) = nullptr;
    int (*find)(void** function, void* module, const char* name) = nullptr;
    int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                  void* stream, void** arguments, void** extra) = nullptr;
  } kernel;
};

/// Codes of the driver.
enum cuda_code : int {
  cuda_success = 0,
  cuda_out_of_memory = 2,
  cuda_not_initialized = 3,
  cuda_no_device = 100,
  cuda_invalid_image = 200,
  cuda_no_image_for_device = 209,
  cuda_invalid_ptx = 218,
  cuda_ptx_too_new = 222,
  cuda_not_ready = 600,
};

/// 11040 is "11.4".
std::string cuda_version_text(int x);

/// The driver (libcuda.so.1), which this process opens once and keeps. Does not start CUDA. Throws
/// `errc::device` if there is none, or one that is too old.
const cuda_driver& find_cuda_driver();

/// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
std::string text_of_cuda(const cuda_driver& driver, int code);

} // namespace leat
