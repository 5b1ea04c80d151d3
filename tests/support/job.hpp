#pragma once

#include <leat/leat.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// One row as the trainer got it.
struct job_row {
  std::uint64_t position;
  std::string id;
  hash128 pixels;

  friend bool operator==(const job_row&, const job_row&) = default;
};

/// One global batch, merged from all ranks.
struct job_step {
  std::uint64_t epoch;
  std::uint64_t step;
  std::vector<job_row> rows;
  hash128 digest;

  friend bool operator==(const job_step&, const job_step&) = default;
};

/// Adds another rank's part of the same global batch.
inline void add(job_step& step, const job_step& part) {
  if (step.epoch != part.epoch || step.step != part.step)
    throw std::logic_error("parts of different batches");
  step.rows.insert(step.rows.end(), part.rows.begin(), part.rows.end());
  std::sort(step.rows.begin(), step.rows.end(),
            [](const auto& a, const auto& b) { return a.position < b.position; });
  step.digest += part.digest;
}

/// Adds one rank's part; parts of one global batch must follow each other.
inline void append(std::vector<job_step>& steps, const batch& part) {
  job_step x{part.epoch(), part.step(), {}, part.digest()};
  const auto positions = part.positions();
  const auto ids = part.ids();
  const auto pixels = part.content_hashes();
  for (std::size_t i = 0; i < positions.size(); ++i)
    x.rows.push_back({positions[i], ids[i], pixels[i]});
  if (!steps.empty() && steps.back().epoch == x.epoch && steps.back().step == x.step)
    add(steps.back(), x);
  else
    steps.push_back(std::move(x));
}

/// What the loader hands over next, or the first of it.
inline std::vector<job_step> next_steps(loader& from, std::size_t most = SIZE_MAX) {
  std::vector<job_step> steps;
  while (steps.size() < most) {
    const auto batch = from.next();
    if (!batch)
      break;
    append(steps, *batch);
  }
  return steps;
}

/// Runs a whole job, all ranks in lock step, and returns its global batches.
inline std::vector<job_step> run_job(const pipeline& data, loader_options options,
                                     std::uint64_t world_size) {
  std::vector<loader> ranks;
  options.world_size = world_size;
  for (options.rank = 0; options.rank < world_size; ++options.rank)
    ranks.emplace_back(data, options);
  std::vector<job_step> steps;
  for (;;) {
    std::size_t ended = 0;
    for (auto& x : ranks) {
      auto batch = x.next();
      if (batch)
        append(steps, *batch);
      else
        ++ended;
    }
    if (ended == ranks.size())
      return steps;
    if (ended > 0)
      throw std::logic_error("ranks end at different steps");
  }
}

} // namespace leat
