#pragma once

// What is compiled for the host, by any compiler, and for devices, by nvcc. Such code uses neither
// the standard library nor exceptions.

#if defined(__CUDACC__)
#define LEAT_ON_BOTH __host__ __device__
#else
#define LEAT_ON_BOTH
#endif

#if defined(__CUDA_ARCH__)
#define LEAT_UNROLL _Pragma("unroll")
#else
#define LEAT_UNROLL
#endif
