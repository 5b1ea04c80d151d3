# What a build finds of NVIDIA's compilers: for tests/cuda/compilers.
#   cmake -D LEAT_CUDA=<value> -D PLACE=<folder> [-D LEAT_NVCC=<file>] -P find.cmake

cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/LeatCuda.cmake")
leat_find_nvcc("${PLACE}")
list(JOIN LEAT_NVCC_ARCHITECTURES " " known)
message(STATUS "found: ${LEAT_NVCC_FOUND} ${LEAT_NVCC_VERSION} ${known}")
