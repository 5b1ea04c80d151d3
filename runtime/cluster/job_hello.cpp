#include "runtime/cluster/job_hello.hpp"

#include "runtime/base/text.hpp"
#include "runtime/cluster/process/process_identity.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/bad_sample.hpp>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace leat {

namespace {

std::uint64_t random_bits(std::random_device& from) {
  return (std::uint64_t{from()} << 32) | from();
}

std::string name_of_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string text_of(std::uint64_t x) {
  return x == UINT64_MAX ? "all" : std::to_string(x);
}

std::string text_of(const left_out_steps& x) {
  const auto text = listed(x.ranges(), [](const step_range& range) {
    return std::to_string(range.first) + " to " + std::to_string(range.last);
  });
  return text.empty() ? "none" : text;
}

std::string text_of(const weight_changes& x) {
  const auto text = listed(
      x.all(), [](const auto& change) { return text_of(change); }, "; ");
  return text.empty() ? "none" : text;
}

std::string text_of(bad_sample_policy x) {
  switch (x) {
  case bad_sample_policy::fail:
    return "fail";
  case bad_sample_policy::mask:
    return "mask";
  case bad_sample_policy::substitute:
    return "substitute";
  }
  return "unknown";
}

/// Ranks may read the same data from different servers: what counts is the data digest.
operator_facts without_versions(operator_facts x) {
  if (x.data)
    x.data->versions = {};
  for (auto& input : x.inputs)
    input = without_versions(std::move(input));
  return x;
}

} // namespace

cluster_hello hello_for(const rank_job& job) {
  const auto& shape = job.plan->shape;
  snapshot beginning;
  beginning.pipeline = job.facts;
  beginning.pipeline.root = without_versions(std::move(beginning.pipeline.root));
  std::random_device random;
  return {.version = LEAT_VERSION,
          .who = {.high = random_bits(random), .low = random_bits(random)},
          .process = this_process(),
          .host_name = name_of_host(),
          .pipeline = encode(beginning),
          .options = {{"epochs", text_of(job.epochs)},
                      {"steps", text_of(job.steps)},
                      {"bad_samples", text_of(job.plan->bad_samples)},
                      {"left out steps", text_of(job.left_out)},
                      {"changes of weights", text_of(job.weights)}},
          .lanes = shape.is_indexed ? 0 : shape.lanes,
          .ends_with_last = shape.end == epoch_end::mask};
}

} // namespace leat
