#include "runtime/cluster/set_collection.hpp"

namespace leat {

void set_collection::begin_term(std::uint64_t world_size) {
  restart();
  parts_ = set_of_parts{world_size};
  world_size_ = world_size;
}

bool set_collection::choose(const std::vector<kept_parts>& ranks) {
  if (is_storing_)
    return false;
  const auto before = target();
  if (!parts_.choose(ranks, stored_))
    return false;
  if (before)
    command(set_command::kind::abandon, *before);
  if (target())
    command(set_command::kind::begin, *target());
  return true;
}

bool set_collection::add(const cluster_part& piece) {
  auto whole = parts_.add(piece);
  if (!whole)
    return false;
  command(set_command::kind::add, piece.at, piece.rank, std::move(*whole));
  if (parts_.is_complete()) {
    is_storing_ = true;
    command(set_command::kind::finish, piece.at);
  }
  return true;
}

void set_collection::restart() {
  if (target())
    command(set_command::kind::abandon, *target());
  parts_.restart();
}

bool set_collection::on_stored(const job_position& at) {
  if (!is_storing_ || target() != at)
    return false;
  is_storing_ = false;
  parts_.end_target();
  stored_ = at;
  return true;
}

bool set_collection::on_not_stored(const job_position& at, const std::string& why) {
  if (target() != at)
    return false;
  is_storing_ = false;
  parts_.end_target();
  ++failures_;
  failure_ = why;
  return true;
}

void set_collection::command(set_command::kind what, const job_position& at, std::uint64_t rank,
                             std::string bytes) {
  commands_.push_back({.what = what,
                       .at = at,
                       .directory = directory_,
                       .world_size = world_size_,
                       .rank = rank,
                       .bytes = std::move(bytes)});
}

} // namespace leat
