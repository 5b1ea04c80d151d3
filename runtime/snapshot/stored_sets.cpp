#include "runtime/snapshot/stored_sets.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/open_directory.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

namespace leat {

namespace {

namespace fs = std::filesystem;

void add_entry(const std::string& name, directory_listing& to) {
  if (const auto set = parse_set_name(name))
    to.sets[*set].has_job_file = true;
  else if (const auto unfinished = parse_unfinished_set_name(name))
    to.unfinished_files.emplace_back(*unfinished, name);
  else if (const auto part = parse_part_name(name))
    to.sets[part->set].ranks.push_back(part->rank);
  else if (name.ends_with(temporary_suffix))
    if (const auto begun = parse_part_name(
            std::string_view{name}.substr(0, name.size() - temporary_suffix.size())))
      to.unfinished_parts.push_back(*begun);
}

[[noreturn]] void throw_unreadable(const fs::path& directory, const std::error_code& problem) {
  throw io_error(
      problem.value(),
      {.stage = "snapshot", .file = directory.string(), .needed = "a directory that can be read"});
}

std::string read_file(const std::string& path) {
  object_version found;
  const auto file = file_descriptor::open(path, &found);
  // One byte more than allowed, so that decode refuses it.
  std::string bytes(std::min<std::uint64_t>(found.size, max_snapshot_bytes + 1), '\0');
  bytes.resize(read_at(file, path, 0, std::as_writable_bytes(std::span{bytes})));
  return bytes;
}

snapshot read_part_file(const fs::path& directory, const part_name& name, std::uint64_t& largest) {
  const auto path = (directory / to_string(name)).string();
  const auto bytes = read_file(path);
  auto part = decode(bytes, path);
  if (name_of(part) != name)
    throw_file_error(errc::bad_snapshot, "snapshot", path,
                     "the content of " + to_string(name_of(part)),
                     "the content that its name says: it was renamed");
  largest = std::max<std::uint64_t>(largest, bytes.size());
  return part;
}

bool job_file_can_restore(const fs::path& directory, const set_name& set) {
  try {
    const job_file_reader file{directory, set};
    file.check_parts();
    return true;
  } catch (const error&) {
    return false; // torn, or just removed
  }
}

bool part_files_can_restore(const fs::path& directory, const set_list::value_type& set) {
  if (set.second.ranks.size() != set.first.world_size)
    return false;
  try {
    std::uint64_t largest = 0;
    return conflict_of(read_part_files(directory, set, largest)).empty();
  } catch (const error&) {
    return false; // torn, or just removed by another rank
  }
}

bool can_restore(const fs::path& directory, const set_list::value_type& set) {
  return (set.second.has_job_file && job_file_can_restore(directory, set.first))
         || part_files_can_restore(directory, set);
}

/// Where the sets begin that are older than the newest `keep` that count, of those from `begin` on.
template <class Counts>
set_list::const_iterator after_kept(const set_list& sets, set_list::const_iterator begin,
                                    std::uint64_t keep, Counts counts) {
  for (auto set = begin; set != sets.end(); ++set)
    if (counts(*set) && --keep == 0)
      return std::next(set);
  return sets.end();
}

void remove_set(const fs::path& directory, const set_list::value_type& set) {
  if (set.second.has_job_file)
    remove_file(directory / to_string(set.first));
  for (auto rank : set.second.ranks)
    remove_file(directory / to_string(part_name{set.first, rank}));
}

/// `newest_old`: the newest set that was removed; null if none was.
void remove_leftovers(const fs::path& directory, const directory_listing& all,
                      const set_name& saved, const std::optional<std::uint64_t>& rank,
                      const set_name* newest_old) {
  const auto is_old = [&](const set_name& x) { return newest_old && x <= *newest_old; };
  for (const auto& x : all.unfinished_parts)
    // Another rank of this world may be writing it: a rank that started over may lag behind a set
    // that is complete with a part from its former life.
    if (x.rank == rank || (x.set.world_size != saved.world_size && is_old(x.set)))
      remove_file(directory / (to_string(x) + std::string{temporary_suffix}));
  for (const auto& [set, file] : all.unfinished_files)
    if (!rank || is_old(set))
      remove_leftover(directory / file);
}

} // namespace

void for_each_entry(const fs::path& directory,
                    const std::function<bool(const fs::directory_entry&)>& see) {
  std::error_code problem;
  auto entry = open_directory(directory, problem);
  if (problem == std::errc::no_such_file_or_directory)
    return;
  while (!problem && entry != fs::directory_iterator{} && see(*entry))
    entry.increment(problem);
  if (problem)
    throw_unreadable(directory, problem);
}

directory_listing list_snapshots(const fs::path& directory) {
  directory_listing all;
  for_each_entry(directory, [&](const fs::directory_entry& entry) {
    // A file that another rank removes meanwhile does not count.
    std::error_code vanished;
    if (entry.is_regular_file(vanished))
      add_entry(entry.path().filename().string(), all);
    return true;
  });
  for (auto& [name, set] : all.sets)
    std::sort(set.ranks.begin(), set.ranks.end());
  return all;
}

bool is_complete(const set_list::value_type& set) {
  return set.second.has_job_file || set.second.ranks.size() == set.first.world_size;
}

std::vector<snapshot> read_part_files(const fs::path& directory, const set_list::value_type& set,
                                      std::uint64_t& largest) {
  std::vector<snapshot> parts;
  for (auto rank : set.second.ranks)
    parts.push_back(read_part_file(directory, {set.first, rank}, largest));
  return parts;
}

std::string conflict_of(const std::vector<snapshot>& parts) {
  try {
    merge(parts, true);
    return {};
  } catch (const error& x) {
    return x.what();
  }
}

void check_keep(std::uint64_t keep) {
  if (keep == 0)
    throw error(errc::invalid_argument, {.stage = "keep", .got = "0", .needed = "at least 1"});
}

std::optional<job_position> prune(const fs::path& directory, const set_name& saved,
                                  std::uint64_t keep, std::optional<std::uint64_t> rank) {
  const auto all = list_snapshots(directory);
  const auto begin = all.sets.lower_bound(saved);
  // In most cases just the names show that nothing is to be removed, without reading any file.
  auto old = after_kept(all.sets, begin, keep, is_complete);
  if (old != all.sets.end())
    old = after_kept(all.sets, begin, keep, [&](const auto& set) {
      return (!rank && set.first == saved) || can_restore(directory, set);
    });
  for (auto set = old; set != all.sets.end(); ++set)
    remove_set(directory, *set);
  const bool any = old != all.sets.end();
  remove_leftovers(directory, all, saved, rank, any ? &old->first : nullptr);
  if (!any)
    return std::nullopt;
  const auto& oldest = std::prev(old)->first;
  return job_position{oldest.epoch, oldest.step};
}

} // namespace leat
