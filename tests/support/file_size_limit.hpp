#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstddef>

namespace leat::test {

/// Simulates a full disk: while this lives, no file of this process can grow beyond a size.
class file_size_limit {
public:
  explicit file_size_limit(std::size_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~file_size_limit() {
    std::signal(SIGXFSZ, handler_);
    ::setrlimit(RLIMIT_FSIZE, &before_);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

} // namespace leat::test
