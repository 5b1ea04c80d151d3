#include "runtime/snapshot/job_file_writer.hpp"

#include "runtime/base/limits.hpp"
#include "runtime/snapshot/snapshot_message.hpp"
#include "runtime/snapshot/stored_sets.hpp"

#include <leat/error.hpp>

#include <string>
#include <utility>

namespace leat {

namespace {

/// What `check_together` looks at.
snapshot without_state(snapshot x) {
  x.lanes = {};
  x.sums = {};
  return x;
}

} // namespace

template <class Write>
void job_file_writer::try_write(Write write) {
  try {
    write();
  } catch (const error& problem) {
    failure_ = problem;
    file_.reset();
    throw;
  }
}

job_file_writer::job_file_writer(std::filesystem::path directory, const job_position& at,
                                 std::uint64_t world_size)
    : directory_(std::move(directory)), name_{at.epoch, at.step, world_size} {
  check_range("world_size", world_size, 1, max_world_size);
  parts_.resize(world_size);
  make_directory_durably(directory_);
  file_.emplace(directory_ / to_string(name_));
  const auto head = job_file_head(name_);
  file_->append(head);
  end_ = head.size();
}

void job_file_writer::check_open() const {
  if (failure_)
    throw error(*failure_);
  if (!file_)
    refuse_argument("snapshot", "a call after finish()", "a writer for each set");
}

void job_file_writer::check_part(std::uint64_t rank, const snapshot& part) const {
  const auto file = (directory_ / to_string(name_)).string();
  const part_name due{name_, rank};
  if (rank >= name_.world_size)
    refuse_snapshot(file, "rank " + std::to_string(rank),
                    "a rank below the world size " + std::to_string(name_.world_size));
  if (name_of(part) != due)
    refuse_snapshot(file, to_string(name_of(part)), "the part " + to_string(due));
  if (parts_[rank].length != 0)
    refuse_snapshot(file, "rank " + std::to_string(rank) + " twice", "each rank once");
  if (first_)
    check_together(*first_, part);
}

void job_file_writer::add(std::uint64_t rank, std::string_view bytes) {
  check_open();
  const auto part = decode(bytes, "part of rank " + std::to_string(rank));
  check_part(rank, part);
  if (!first_)
    first_ = without_state(part);
  try_write([&] { file_->append(bytes); });
  parts_[rank] = {end_, bytes.size()};
  end_ += bytes.size();
  ++added_;
}

std::optional<job_position> job_file_writer::finish(std::uint64_t keep) {
  check_keep(keep);
  check_open();
  if (added_ < name_.world_size) {
    std::vector<std::uint64_t> present;
    for (std::uint64_t rank = 0; rank < parts_.size(); ++rank)
      if (parts_[rank].length != 0)
        present.push_back(rank);
    refuse_snapshot((directory_ / to_string(name_)).string(),
                    missing_ranks(present, name_.world_size),
                    "all " + std::to_string(name_.world_size) + " parts");
  }
  try_write([&] {
    file_->append(job_file_tail(name_, parts_));
    file_->commit();
  });
  file_.reset();
  return prune(directory_, name_, keep);
}

} // namespace leat
