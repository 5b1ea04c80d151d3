#include "actors/line_of.hpp"
#include "actors/loader_seat.hpp"
#include "runtime/storage/log_writer.hpp"

#include <leat/loader.hpp>
#include <leat/run_log.hpp>

#include <utility>

namespace leat {

class run_log::file {
public:
  explicit file(const std::string& path) : lines(path) {}

  log_writer lines;
};

run_log::run_log(const std::string& path, const loader& of, const run_log_options& options)
    : file_(std::make_unique<file>(path)) {
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
  file_->lines.append(to_json(line_of(x)));
}

batch_line line_of(const batch& x) {
  batch_line line{x.epoch(),  x.step(),           x.rank(), x.world_size(), x.positions(), x.ids(),
                  x.digest(), x.content_hashes(), {}};
  for (const auto& row : x.bad())
    line.bad.push_back({row.position, row.id, std::string{to_string(row.why)}, row.substitute});
  return line;
}

} // namespace leat
