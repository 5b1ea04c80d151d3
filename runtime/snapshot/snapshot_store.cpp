#include "runtime/snapshot/snapshot_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "runtime/snapshot/snapshot_message.hpp"
#include "runtime/snapshot/snapshot_names.hpp"
#include "runtime/snapshot/stored_sets.hpp"
#include "runtime/storage/durable_file.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

std::string describe(const set_name& set, const std::string& why) {
  return "epoch " + std::to_string(set.epoch) + " step " + std::to_string(set.step) + ": " + why;
}

/// Reads a set's one file into `to`. Returns why the set is skipped; empty if it can be restored.
std::string read_job_file(const fs::path& directory, const set_name& set,
                          snapshot_store::found& to) {
  const job_file_reader file{directory, set};
  to.parts = file.parts();
  to.largest_part = file.largest_part();
  to.in_one_file = true;
  return conflict_of(to.parts);
}

/// The same for a set's part files.
std::string read_parts(const fs::path& directory, const set_list::value_type& set,
                       snapshot_store::found& to) {
  const auto& [name, stored] = set;
  if (stored.ranks.size() != name.world_size)
    return std::to_string(stored.ranks.size()) + " of " + std::to_string(name.world_size)
           + " parts, " + missing_ranks(stored.ranks, name.world_size);
  to.parts = read_part_files(directory, set, to.largest_part);
  return conflict_of(to.parts);
}

/// Calls `read`, and then says what is skipped. True if there is something to restore.
template <class Read>
bool found_in(const set_name& set, bool allow_torn, snapshot_store::found& to, Read read) {
  std::string why_not;
  try {
    why_not = read();
  } catch (const error& x) {
    if (x.code() != errc::bad_snapshot || !allow_torn)
      throw;
    why_not = x.what();
  }
  if (why_not.empty())
    return true;
  auto skipped = std::move(to.skipped);
  skipped.push_back(describe(set, why_not));
  to = {.skipped = std::move(skipped)};
  return false;
}

snapshot_store::found find_newest(const fs::path& directory, bool allow_torn,
                                  const std::optional<job_position>& place = std::nullopt) {
  snapshot_store::found result;
  for (const auto& set : list_snapshots(directory).sets) {
    const auto& name = set.first; // clang 14 hands no structured binding on to a lambda
    if (place && *place != job_position{name.epoch, name.step})
      continue;
    if (set.second.has_job_file && found_in(name, allow_torn, result, [&] {
          return read_job_file(directory, name, result);
        }))
      return result;
    const bool has_parts = !set.second.ranks.empty();
    if (has_parts
        && found_in(name, allow_torn, result, [&] { return read_parts(directory, set, result); }))
      return result;
  }
  return result;
}

found_job_file find_newest_file(const fs::path& directory) {
  found_job_file result;
  for (const auto& [set, stored] : list_snapshots(directory).sets)
    if (stored.has_job_file)
      try {
        const job_file_reader file{directory, set};
        result.path = directory / to_string(set);
        result.set = set;
        return result;
      } catch (const error& x) {
        if (x.code() != errc::bad_snapshot)
          throw;
        result.skipped.push_back(describe(set, x.what()));
      }
  return result;
}

/// Calls `find` again for as long as somebody removes a set between listing and reading: a newer
/// one is complete then.
template <class Find>
auto undisturbed(Find find) {
  for (;;)
    try {
      return find();
    } catch (const error& x) {
      if (x.code() != errc::not_found)
        throw;
    }
}

/// A name that says which file is meant, so that its absence is a mistake.
bool names_a_file(const fs::path& path) {
  const auto name = path.filename().string();
  return parse_set_name(name) || parse_part_name(name);
}

[[noreturn]] void refuse_file(const std::string& path, snapshot_file what) {
  const bool is_part = what == snapshot_file::part;
  throw_file_error(
      errc::bad_snapshot, "restore", path,
      is_part ? "the part of one rank" : "something other than a snapshot",
      std::string{"a directory of snapshots, or a job's file epoch-E-step-S.of-W"}
          + (is_part ? " (restore its directory, or give its bytes to restore_parts)" : ""));
}

snapshot_store::found read_one_file(const std::string& path) {
  if (const auto what = snapshot_file_at(path); what != snapshot_file::job)
    refuse_file(path, what);
  const job_file_reader file{path};
  snapshot_store::found found{
      .parts = file.parts(), .largest_part = file.largest_part(), .in_one_file = true};
  if (const auto conflict = conflict_of(found.parts); !conflict.empty())
    refuse_snapshot(path, conflict, "parts of one run");
  return found;
}

} // namespace

std::optional<job_position> snapshot_store::save(const snapshot& part, std::uint64_t keep) const {
  return save(part, encode(part), keep);
}

std::optional<job_position> snapshot_store::save(const snapshot& part, std::string_view encoded,
                                                 std::uint64_t keep) const {
  check_keep(keep);
  const auto name = name_of(part);
  make_directory_durably(directory_);
  write_durably(directory_ / to_string(name), encoded);
  return prune(directory_, name.set, keep, name.rank);
}

snapshot_store::found snapshot_store::newest(bool allow_older) const {
  return undisturbed([&] { return find_newest(directory_, allow_older); });
}

snapshot_store::found snapshot_store::at(const job_position& place) const {
  return undisturbed([&] { return find_newest(directory_, true, place); });
}

bool snapshot_store::has_entries() const {
  bool any = false;
  for_each_entry(directory_, [&](const fs::directory_entry&) { return !(any = true); });
  return any;
}

found_job_file newest_job_file(const fs::path& directory) {
  return undisturbed([&] { return find_newest_file(directory); });
}

snapshot_store::found stored_snapshot(const std::string& path, bool allow_older) {
  std::error_code unknown;
  const auto kind = fs::status(path, unknown).type();
  const bool is_there = kind != fs::file_type::not_found && kind != fs::file_type::none;
  if (kind == fs::file_type::directory || (!is_there && !names_a_file(path)))
    return snapshot_store{path}.newest(allow_older);
  return read_one_file(path);
}

} // namespace leat
