#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

/// How a process makes rows for ranks: see worker_options.
struct worker_settings {
  std::string join = {};
  std::size_t cores = 0;
  std::uint64_t memory = 0;
  int nice = 0;
  std::vector<std::string> data = {};
  std::string certificates = {};
  std::string token = {};
  std::stop_token stop = {};
  std::function<void(const std::string&)> log = {};
};

/// With the number of cores. Throws `errc::invalid_argument`.
worker_settings checked(worker_settings x);

/// Takes the process's share of cores and memory.
void give_way(const worker_settings& x);

} // namespace leat
