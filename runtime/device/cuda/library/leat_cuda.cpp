// libleat_cuda.so: leat's kernels as data. There is no code in it, and it needs no library.

#include "runtime/device/cuda/cuda_image.hpp"

// In the section in which CUDA's own tools (cuobjdump) look for them.
asm(".section .nv_fatbin,\"a\"\n"
    ".balign 64\n"
    ".globl leat_cuda_data\n"
    ".hidden leat_cuda_data\n"
    ".type leat_cuda_data, @object\n"
    "leat_cuda_data:\n"
    ".incbin \"" LEAT_CUDA_DATA "\"\n"
    ".size leat_cuda_data, . - leat_cuda_data\n"
    ".previous\n");

extern "C" {
extern const unsigned char leat_cuda_data[] __attribute__((visibility("hidden")));

extern const leat::cuda_image leat_cuda_image __attribute__((visibility("default")));
constinit const leat::cuda_image leat_cuda_image = {
    LEAT_VERSION, LEAT_CUDA_TOOLKIT, LEAT_CUDA_BUILT_FOR, LEAT_CUDA_NEWEST, leat_cuda_data};
}
