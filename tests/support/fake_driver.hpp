#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

// Tests of CUDA's driver, which a process opens once: each runs a hidden test in a process of its
// own, with a driver that is made up (tests/shim/fake_cuda.cpp).

#define LEAT_NEEDS_FAKE_CUDA()                                                                     \
  if (std::string{test::fake_cuda_dir}.empty()) {                                                  \
    WARN("skipped: leat is built without CUDA");                                                   \
    return;                                                                                        \
  }

namespace leat::test {

/// Runs hidden tests with a driver, and with words of the environment. `program`: this one.
inline finished_process
run_hidden(const std::string& tag, const std::string& driver, const std::string& environment,
           const std::string& program = std::filesystem::read_symlink("/proc/self/exe")) {
  const temporary_directory directory;
  return run_process({"/bin/sh", "-c",
                      "LD_LIBRARY_PATH='" + driver + "' " + environment + " exec '" + program
                          + "' '[" + tag + "]' 2>&1"},
                     directory / "output");
}

/// What the process says.
inline std::string said(const finished_process& x) {
  constexpr std::string_view begin = "said: ";
  const auto at = x.output.find(begin);
  if (at == std::string::npos)
    return x.output;
  const auto text = x.output.substr(at + begin.size());
  return text.substr(0, text.find('\n'));
}

inline void say(const std::string& text) {
  std::cout << "said: " << text << std::endl;
}

template <class Function>
std::string text_of(Function function) {
  const auto problem = problem_of(function);
  return problem ? problem->what() : "no error";
}

/// Of the driver that is made up, in this process.
inline fake_device& driver_device(int number) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library);
  void* const find = ::dlsym(library, "leat_fake_cuda_device");
  REQUIRE(find);
  return *static_cast<fake_device*>(reinterpret_cast<void* (*)(int)>(find)(number));
}

} // namespace leat::test
