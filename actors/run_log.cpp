#include "actors/loader_checks.hpp"
#include "actors/loader_seat.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/log_lines.hpp"
#include "runtime/storage/log_writer.hpp"

#include <leat/batch.hpp>
#include <leat/run_log.hpp>

namespace leat {

class run_log::file {
public:
  file(const std::string& path, const loader_seat& of, bool is_of_all)
      : lines(path), loader_(of.mark().number), world_size_(of.job().job().world_size),
        facts_(of.job().job().facts), is_of_all_(is_of_all) {}

  void check(const lease_desk& desk, const job_progress& after) const {
    const auto& its = desk.job();
    if (desk.loader().number == loader_
        || (is_of_all_ && its.world_size == world_size_ && its.facts == facts_))
      return;
    refuse_argument("run_log", "a batch of another loader: " + text_of_batch(desk, after),
                    "one of the loader that the log was made for, of " + shape_of(facts_.root)
                        + (is_of_all_ ? ", or of another rank of its job" : ""));
  }

  log_writer lines;

private:
  const std::uint64_t loader_;
  const std::uint64_t world_size_;
  const pipeline_facts facts_;
  const bool is_of_all_;
};

run_log::run_log(const std::string& path, const loader& of, const run_log_options& options)
    : file_(std::make_unique<file>(path, of.seat(), options.all_ranks)) {
  auto start = of.seat().attempt();
  if (!start)
    return;
  start->program = options.program;
  if (options.all_ranks)
    start->rank.reset();
  file_->lines.append(to_json(*start));
}

run_log::~run_log() = default;
run_log::run_log(run_log&& other) noexcept = default;
run_log& run_log::operator=(run_log&& other) noexcept = default;

void run_log::append(const batch& x) {
  file_->check(*x.desk_, *x.after_);
  file_->lines.append(to_json(line_of(x)));
}

} // namespace leat
