// Snapshots of the conformance pipelines with other numbers in them, sealed again: restored in a
// loader without threads, each ends in an error or continues for some batches. An input is the
// number of a pipeline, that of a snapshot, and the bytes of one; the mutator knows their
// structure.
#include "runtime/pipeline/op_traits.hpp"
#include "tests/conformance/forged_job.hpp"
#include "tests/conformance/pipelines.hpp"
#include "tests/support/snapshot_forger.hpp"

#include <leat/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace leat::test;

constexpr std::size_t head = 2;

/// Pipelines of data that can be read again, under each end, each run when it is first asked for.
class all_jobs {
public:
  all_jobs() {
    for (const auto& [name, text] : registered_pipelines())
      for (const std::string end : {"drop", "mask", "cycle"})
        if (!leat::is_once(leat::parse_pipeline(text + ".batch(1)").root()))
          texts_.push_back(text + drawing_map + ".batch(12, lanes=4, end=\"" + end + "\")");
    jobs_.resize(texts_.size());
  }

  const forged_job& get(std::uint8_t number) {
    auto& job = jobs_[number % jobs_.size()];
    if (!job)
      job = std::make_unique<forged_job>(texts_[number % texts_.size()], 12);
    return *job;
  }

private:
  const conformance_data data_;
  std::vector<std::string> texts_;
  std::vector<std::unique_ptr<forged_job>> jobs_;
};

all_jobs& jobs() {
  static all_jobs all;
  return all;
}

void check(const leat::error& x) {
  const std::string_view text = x.what();
  if (x.code() == leat::errc::stuck)
    std::abort();
  for (const auto* word : {"std::", "vector", "basic_string", "_M_"})
    if (text.find(word) != text.npos)
      std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size <= head)
    return 0;
  const auto& job = jobs().get(data[0]);
  const std::string bytes{reinterpret_cast<const char*>(data) + head, size - head};
  const auto result = job.run(bytes, data[1] % job.snapshots().size());
  if (result.problem)
    check(*result.problem);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  std::mt19937_64 random{seed};
  if (max_size <= head)
    return size;
  const bool is_new = size <= head || random() % 16 == 0;
  if (is_new) {
    data[0] = static_cast<std::uint8_t>(random());
    data[1] = static_cast<std::uint8_t>(random());
  }
  const auto& snapshots = jobs().get(data[0]).snapshots();
  std::string forged;
  try {
    const std::string_view bytes{reinterpret_cast<const char*>(data) + head,
                                 is_new ? 0 : size - head};
    snapshot_forger forger{is_new ? std::string_view{snapshots[data[1] % snapshots.size()]}
                                  : bytes};
    forger.change(random, snapshot_forger{snapshots[random() % snapshots.size()]});
    forged = forger.bytes();
  } catch (const std::exception&) { // from bytes that no mutation here made
    forged = snapshots[data[1] % snapshots.size()];
  }
  if (forged.size() > max_size - head)
    return std::min(size, max_size);
  std::memcpy(data + head, forged.data(), forged.size());
  return head + forged.size();
}
