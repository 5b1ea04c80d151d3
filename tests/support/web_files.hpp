#pragma once

#include "runtime/storage/file_set.hpp"
#include "runtime/storage/remote/http_store.hpp"
#include "tests/support/fault_server.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace leat::test {

/// Does not wait long for a server that fails on purpose.
inline transfer_settings impatient(std::uint64_t seed = 1) {
  using namespace std::chrono_literals;
  return {.retry = {.first = 1'000'000,
                    .longest = 20'000'000,
                    .patience = 20'000'000'000,
                    .most_wrong = 20,
                    .seed = seed},
          .hedge_after = 20s,
          .stall = 20s,
          .connect = 20s,
          .first_answer = 20s};
}

/// The same for servers that hang. On a busy machine others seem to, and are asked more often.
inline transfer_settings impatient_with_hangs(std::uint64_t seed = 1) {
  using namespace std::chrono_literals;
  auto how = impatient(seed);
  how.hedge_after = 20ms;
  how.stall = 1s;
  how.connect = 2s;
  return how;
}

/// Files of a server, by their names in its folder, to be read by this store.
inline file_set files_at(const object_store& store, const fault_server& server,
                         const std::vector<std::string>& names) {
  std::vector<std::string> urls;
  for (const auto& x : names)
    urls.push_back(server.url(x));
  auto files = find_files(urls, "test");
  files.store = &store;
  return files;
}

/// Every way in which a response can be wrong, and none that ends a job.
inline std::vector<fault> passing_faults() {
  return {fault::cut,           fault::cut_without_length,
          fault::other_body,    fault::unended,
          fault::shortened,     fault::shifted,
          fault::ignores_range, fault::busy,
          fault::too_many,      fault::reset,
          fault::stalls,        fault::trickles};
}

} // namespace leat::test
