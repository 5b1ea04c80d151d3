#include "runtime/cluster/set_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

namespace leat {

std::optional<set_answer> set_files::run(const set_command& x) {
  if (x.what != set_command::kind::begin && !file_)
    return std::nullopt;
  try {
    switch (x.what) {
    case set_command::kind::begin:
      file_.emplace(x.directory, x.at, x.world_size);
      break;
    case set_command::kind::add:
      file_->add(x.rank, x.bytes);
      break;
    case set_command::kind::abandon:
      file_.reset();
      break;
    case set_command::kind::finish:
      finish();
      return set_answer{x.at, {}};
    }
    return std::nullopt;
  } catch (...) {
    file_.reset();
    const auto problem = error_in_flight(errc::io, {.stage = "snapshot", .file = x.directory});
    return set_answer{x.at, problem.what()};
  }
}

void set_files::finish() {
  if (!config_.is_newest())
    throw_error(errc::io, "cluster", "another coordinator, which has begun meanwhile",
                "to be the newest one of the state directory");
  file_->finish(config_.keep);
  file_.reset();
}

std::optional<job_position> newest_set_in(const std::string& directory) {
  const auto found = snapshot_store{directory}.newest(true);
  for (const auto& text : found.skipped)
    notice("snapshot: " + directory + ": skipped " + text);
  if (!found)
    return std::nullopt;
  return job_position{found.parts.front().epoch, found.parts.front().step};
}

} // namespace leat
