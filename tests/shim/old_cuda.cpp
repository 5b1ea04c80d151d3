// A driver for CUDA (libcuda.so.1) that lacks what leat needs.

extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
