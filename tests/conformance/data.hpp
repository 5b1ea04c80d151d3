#pragma once

#include "tests/support/pipe.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <string>

namespace leat::test {

/// The files that the registered pipelines read, in a temporary directory that is the working
/// directory as long as this lives; and a program's own sources and maps, registered: numbers@1,
/// walk@1, march@1, queue@1, names@1, noise@1.
class conformance_data {
public:
  conformance_data();
  ~conformance_data();
  conformance_data(const conformance_data&) = delete;
  conformance_data& operator=(const conformance_data&) = delete;

private:
  std::filesystem::path before_;
  temporary_directory at_;
};

/// Sets what the sources that exist once give from now on, from the beginning (standard input,
/// queue@1 and names@1), and where their journal is. There may be one of these at a time.
class once_records {
public:
  once_records();

  const std::string& journal() const noexcept { return journal_.path(); }

private:
  temporary_directory journal_;
  pipe_pair pipe_;
  standard_input_from input_;
};

/// Draws random numbers: shows whether a sample's key stays the same.
inline constexpr auto drawing_map = ".map(\"noise@1\")";

} // namespace leat::test
