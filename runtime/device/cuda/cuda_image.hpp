#pragma once

#include <string_view>

namespace leat {

/// leat's kernels for CUDA, as the library libleat_cuda.so has them: as data, beside which it holds
/// nothing. Under the name `leat_cuda_image`.
struct cuda_image {
  /// leat's version, which must be that of whoever launches them.
  const char* leat = nullptr;
  /// Of CUDA's toolkit, as cuDriverGetVersion() counts.
  int toolkit = 0;
  /// Architectures for which there is machine code, as "75 80".
  const char* built_for = nullptr;
  /// That of the PTX, from which drivers make code for newer ones.
  const char* newest = nullptr;
  /// What cuModuleLoadData() takes.
  const unsigned char* data = nullptr;
};

/// That of the file that LEAT_CUDA_MODULE names, or of the one beside the library, module or
/// program that this is a part of, in the folder for libraries beside the program's, or where the
/// system looks. Stays in memory. Throws `errc::device` for `device`: there is none, or one of
/// another version of leat.
const cuda_image& find_cuda_image(std::string_view device);

} // namespace leat
