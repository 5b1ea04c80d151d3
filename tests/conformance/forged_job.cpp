#include "tests/conformance/forged_job.hpp"

#include "runtime/base/xxh3.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/leat.hpp>

namespace leat::test {

namespace {

/// Batches after a restore: enough to show what lanes continue with.
constexpr std::size_t most_batches = 6;

loader_options options_of(std::uint64_t epochs) {
  return {
      .workers = 0, .epochs = epochs, .bad_samples = bad_sample_policy::mask, .hash_pixels = true};
}

hash128 digest_of(const batch& x) {
  hash_stream hash;
  hash.add(x.epoch());
  hash.add(x.step());
  hash.add(to_string(x.digest()));
  for (const auto& pixels : x.content_hashes())
    hash.add(to_string(pixels));
  for (const auto& bad : x.bad())
    hash.add(bad.id);
  return hash.digest128();
}

} // namespace

forged_job::forged_job(const std::string& text, std::size_t steps) : text_(text) {
  const auto data = parse_pipeline(text);
  if (is_once(data.root()))
    once_.emplace(); // there is no second epoch
  else
    data_ = data;
  epochs_ = once_ || end_of(data.root()) == epoch_end::cycle ? 1 : 2;
  loader from{open(), options_of(epochs_)};
  while (snapshots_.size() < steps) {
    const auto x = from.next();
    if (!x)
      break;
    digests_.push_back(digest_of(*x));
    snapshots_.push_back(x->snapshot());
  }
}

pipeline forged_job::open() const {
  return data_ ? *data_ : parse_pipeline(text_).journal(once_->journal());
}

forged_job::outcome forged_job::run(const std::string& bytes, std::size_t number) const {
  outcome result;
  try {
    loader from{open(), options_of(epochs_)};
    from.restore_parts({bytes});
    for (; result.batches < most_batches; ++result.batches) {
      const auto x = from.next();
      if (!x)
        break;
      const auto at = number + 1 + result.batches;
      result.others += at < digests_.size() && digests_[at] == digest_of(*x) ? 0 : 1;
      [[maybe_unused]] const auto state = x->snapshot();
    }
  } catch (const error& problem) {
    result.problem = problem;
  }
  return result;
}

} // namespace leat::test
