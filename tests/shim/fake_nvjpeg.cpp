// nvJPEG (libnvjpeg.so.13) without a GPU, over the driver that is made up (fake_cuda.cpp): those of
// its functions that leat calls. It decodes by libjpeg, as leat's processors do, to memory of the
// host, from where the stream copies planes to the device, as late as any work there. A state's
// memory is its next image's, at once.
//
// LEAT_FAKE_CUDA has its words, too:
//
//   nvjpeg_create=N, nvjpeg_state=N, nvjpeg_info=N, nvjpeg_decode=N  what these functions return
//   nvjpeg_wider=N  columns that planes have beyond those of the file, as nvjpegGetImageInfo says
//   nvjpeg_cuda=N   the CUDA that it was made with (13000)

#include "tests/shim/fake_cuda.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// jpeglib.h must come after <cstdio>, which it needs and does not include.
#include <jpeglib.h>

using leat::fake_cuda::number;

extern "C" {
int cuMemHostRegister_v2(void* pages, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* pages);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream);
}

namespace {

enum status : int {
  good = 0,
  invalid_parameter = 2,
  bad_jpeg = 3,
  not_supported = 4,
  allocator_failure = 5,
  execution_failed = 6,
};

constexpr std::size_t most_bytes = std::size_t{1} << 21;

struct image {
  unsigned char* planes[4];
  std::size_t strides[4];
};

struct state {
  state() : pages(static_cast<unsigned char*>(std::aligned_alloc(4096, most_bytes))) {
    cuMemHostRegister_v2(pages, most_bytes, 1);
  }
  ~state() {
    cuMemHostUnregister(pages);
    std::free(pages);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  unsigned char* const pages;
};

struct reader {
  reader() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr x) {
      std::longjmp(static_cast<reader*>(x->client_data)->stopped, 1);
    };
    errors.output_message = [](j_common_ptr) {};
    jpeg_create_decompress(&info);
  }
  ~reader() { jpeg_destroy_decompress(&info); }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf stopped{};
};

bool read_header(reader& x, const unsigned char* file, std::size_t bytes) {
  if (setjmp(x.stopped) != 0)
    return false;
  jpeg_mem_src(&x.info, file, bytes);
  jpeg_read_header(&x.info, TRUE);
  x.info.raw_data_out = TRUE;
  x.info.out_color_space = x.info.jpeg_color_space;
  x.info.dct_method = JDCT_ISLOW;
  jpeg_calc_output_dimensions(&x.info);
  return true;
}

/// As nvjpegChromaSubsampling_t counts.
int sampling_of(const jpeg_decompress_struct& x) {
  if (x.num_components == 1)
    return 6;
  const auto ratio = [&](int c) {
    const auto& y = x.comp_info[c];
    return 10 * (x.max_h_samp_factor / y.h_samp_factor) + x.max_v_samp_factor / y.v_samp_factor;
  };
  if (x.num_components != 3 || ratio(0) != 11 || ratio(1) != ratio(2))
    return -1;
  constexpr int known[] = {11, 21, 22, 12, 41, 42};
  for (int i = 0; i < 6; ++i)
    if (known[i] == ratio(1))
      return i;
  return -1;
}

std::size_t stride_of(const reader& x, int c) {
  const auto& y = x.info.comp_info[c];
  const auto mcu = static_cast<unsigned>(8 * x.info.max_h_samp_factor);
  const auto mcus = (x.info.image_width + mcu - 1) / mcu;
  return std::size_t{mcus} * static_cast<unsigned>(y.h_samp_factor) * 8;
}

/// One plane after the other, each of whole MCUs.
bool read_planes(reader& x, unsigned char* to, unsigned char* (&planes)[4]) {
  auto* volatile end = to;
  if (setjmp(x.stopped) != 0)
    return false;
  jpeg_start_decompress(&x.info);
  const auto down = static_cast<JDIMENSION>(8 * x.info.max_v_samp_factor);
  const auto mcu_rows = (x.info.image_height + down - 1) / down;
  for (int c = 0; c < x.info.num_components; ++c) {
    planes[c] = end;
    const auto rows =
        std::size_t{mcu_rows} * 8 * static_cast<unsigned>(x.info.comp_info[c].v_samp_factor);
    end = end + stride_of(x, c) * rows;
    if (end > to + most_bytes)
      return false;
  }
  JSAMPROW rows[4][32];
  JSAMPARRAY all[4] = {rows[0], rows[1], rows[2], rows[3]};
  for (std::size_t mcu = 0; mcu < mcu_rows; ++mcu) {
    for (int c = 0; c < x.info.num_components; ++c) {
      const auto high = std::size_t{8} * static_cast<unsigned>(x.info.comp_info[c].v_samp_factor);
      for (std::size_t y = 0; y < high; ++y)
        rows[c][y] = planes[c] + (mcu * high + y) * stride_of(x, c);
    }
    jpeg_read_raw_data(&x.info, all, down);
  }
  return x.errors.num_warnings == 0; // what describes the planes ends with jpeg_finish_decompress()
}

int code(const char* word) {
  return static_cast<int>(number(word, 0));
}

} // namespace

extern "C" {

LEAT_CUDA_CALL int nvjpegGetProperty(int which, int* value) {
  constexpr int version[] = {13, 3, 2};
  *value = version[which];
  return good;
}

LEAT_CUDA_CALL int nvjpegGetCudartProperty(int which, int* value) {
  const auto cuda = static_cast<int>(number("nvjpeg_cuda", 13000));
  const int version[] = {cuda / 1000, cuda % 1000 / 10, 0};
  *value = version[which];
  return good;
}

LEAT_CUDA_CALL int nvjpegCreateEx(int backend, void* device_memory, void* host_memory,
                                  unsigned flags, void** handle) {
  if (backend != 1 || flags != 4 || device_memory || host_memory)
    return invalid_parameter;
  if (const auto x = code("nvjpeg_create"))
    return x;
  *handle = new int{0};
  return good;
}

LEAT_CUDA_CALL int nvjpegDestroy(void* handle) {
  auto* const states = static_cast<int*>(handle);
  const bool is_free = *states == 0;
  delete states;
  return is_free ? good : invalid_parameter;
}

LEAT_CUDA_CALL int nvjpegJpegStateCreate(void* handle, void** made) {
  if (const auto x = code("nvjpeg_state"))
    return x;
  ++*static_cast<int*>(handle);
  *made = new state;
  return good;
}

LEAT_CUDA_CALL int nvjpegJpegStateDestroy(void* x) {
  delete static_cast<state*>(x);
  return good;
}

LEAT_CUDA_CALL int nvjpegGetImageInfo(void*, const unsigned char* file, std::size_t bytes,
                                      int* components, int* sampling, int* widths, int* heights) {
  if (const auto x = code("nvjpeg_info"))
    return x;
  reader x;
  if (!read_header(x, file, bytes))
    return bad_jpeg;
  *components = x.info.num_components;
  *sampling = sampling_of(x.info);
  for (int c = 0; c < x.info.num_components; ++c) {
    widths[c] = static_cast<int>(x.info.comp_info[c].downsampled_width) + code("nvjpeg_wider");
    heights[c] = static_cast<int>(x.info.comp_info[c].downsampled_height);
  }
  return good;
}

LEAT_CUDA_CALL int nvjpegDecode(void*, void* with, const unsigned char* file, std::size_t bytes,
                                int format, image* to, void* stream) {
  if (const auto failure = code("nvjpeg_decode"))
    return failure;
  reader x;
  if (!read_header(x, file, bytes))
    return bad_jpeg;
  const auto components = x.info.num_components;
  if (components != (format == 2 ? 1 : 3) || sampling_of(x.info) < 0)
    return not_supported;
  unsigned char* planes[4];
  if (!read_planes(x, static_cast<state*>(with)->pages, planes))
    return bad_jpeg;
  for (int c = 0; c < components; ++c) {
    const auto width = x.info.comp_info[c].downsampled_width;
    if (to->strides[c] < width)
      return invalid_parameter;
    for (std::size_t y = 0; y < x.info.comp_info[c].downsampled_height; ++y) {
      const auto at = reinterpret_cast<std::uintptr_t>(to->planes[c]) + y * to->strides[c];
      if (cuMemcpyHtoDAsync_v2(at, planes[c] + y * stride_of(x, c), width, stream) != 0)
        return execution_failed;
    }
  }
  return good;
}

} // extern "C"
