#pragma once

#include "runtime/snapshot/job_file.hpp"
#include "runtime/snapshot/job_file_writer.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/support/files.hpp"
#include "tests/support/operator_facts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace leat::test {

/// One rank's part of a set of a small indexed job; parts of one set belong together.
inline snapshot part_of(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank = 0,
                        std::uint64_t world_size = 1) {
  snapshot x;
  x.pipeline = batch_of(count_of(1000), 10, 10);
  x.epoch = epoch;
  x.step = step;
  x.global_step = 100 * epoch + step;
  x.rank = rank;
  x.world_size = world_size;
  x.sums.samples = 7 + rank;
  return x;
}

/// The bytes of all parts of a set, in the order of the ranks.
inline std::vector<std::string> encoded_parts(std::uint64_t epoch, std::uint64_t step,
                                              std::uint64_t world_size) {
  std::vector<std::string> parts;
  for (std::uint64_t rank = 0; rank < world_size; ++rank)
    parts.push_back(encode(part_of(epoch, step, rank, world_size)));
  return parts;
}

/// Writes a set as one file.
inline auto save_job(const std::string& directory, std::uint64_t epoch, std::uint64_t step,
                     std::uint64_t world_size = 1, std::uint64_t keep = 100) {
  job_file_writer writer{directory, {epoch, step}, world_size};
  for (std::uint64_t rank = world_size; rank-- > 0;)
    writer.add(rank, encode(part_of(epoch, step, rank, world_size)));
  return writer.finish(keep);
}

/// The bytes of a job's file with these parts, in the order of the ranks.
inline std::string job_file_bytes(const set_name& name, const std::vector<std::string>& parts) {
  auto bytes = job_file_head(name);
  std::vector<part_place> places;
  for (const auto& part : parts) {
    places.push_back({bytes.size(), part.size()});
    bytes += part;
  }
  return bytes + job_file_tail(name, places);
}

} // namespace leat::test
