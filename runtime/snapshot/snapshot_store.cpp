#include "runtime/snapshot/snapshot_store.hpp"

#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/open_files.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <system_error>

namespace leat {

namespace {

namespace fs = std::filesystem;

struct set_name {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t world_size = 0;

  // clang-tidy 14 takes the defaulted operator for a literal 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const set_name&, const set_name&) = default;
};

struct part_name {
  set_name set;
  std::uint64_t rank = 0;

  friend bool operator==(const part_name&, const part_name&) = default;
};

part_name name_of(const snapshot& x) {
  return {{x.epoch, x.step, x.world_size}, x.rank};
}

std::string to_string(const part_name& x) {
  return "epoch-" + std::to_string(x.set.epoch) + "-step-" + std::to_string(x.set.step) + ".rank-"
         + std::to_string(x.rank) + "-of-" + std::to_string(x.set.world_size);
}

/// Takes `prefix` and a number off the front of `text`.
bool take(std::string_view& text, std::string_view prefix, std::uint64_t& number) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return problem == std::errc{};
}

/// Reads what `to_string` wrote, and nothing else.
std::optional<part_name> parse_part_name(std::string_view text) {
  part_name x;
  auto rest = text;
  const bool is_name = take(rest, "epoch-", x.set.epoch) && take(rest, "-step-", x.set.step)
                       && take(rest, ".rank-", x.rank) && take(rest, "-of-", x.set.world_size);
  if (!is_name || x.rank >= x.set.world_size || to_string(x) != text)
    return std::nullopt;
  return x;
}

/// The ranks of each set, newest set first.
using set_list = std::map<set_name, std::vector<std::uint64_t>, std::greater<>>;

struct listing {
  set_list sets;
  std::vector<part_name> temporaries;
};

void add_entry(std::string name, listing& to) {
  const bool is_temporary = name.ends_with(temporary_suffix);
  if (is_temporary)
    name.resize(name.size() - temporary_suffix.size());
  const auto part = parse_part_name(name);
  if (part && is_temporary)
    to.temporaries.push_back(*part);
  else if (part)
    to.sets[part->set].push_back(part->rank);
}

[[noreturn]] void throw_unreadable(const fs::path& directory, const std::error_code& problem) {
  throw error(errc::io, {.stage = "snapshot",
                         .file = directory.string(),
                         .got = problem.message(),
                         .needed = "a directory that can be read"});
}

/// Calls `see` with each entry until it returns false. A missing directory has no entries.
void for_each_entry(const fs::path& directory,
                    const std::function<bool(const fs::directory_entry&)>& see) {
  std::error_code problem;
  fs::directory_iterator entry{directory, problem};
  if (problem == std::errc::no_such_file_or_directory)
    return;
  while (!problem && entry != fs::directory_iterator{} && see(*entry))
    entry.increment(problem);
  if (problem)
    throw_unreadable(directory, problem);
}

listing list(const fs::path& directory) {
  listing all;
  for_each_entry(directory, [&](const fs::directory_entry& entry) {
    // A file that another rank removes meanwhile does not count.
    std::error_code vanished;
    if (entry.is_regular_file(vanished))
      add_entry(entry.path().filename().string(), all);
    return true;
  });
  for (auto& [set, ranks] : all.sets)
    std::sort(ranks.begin(), ranks.end());
  return all;
}

std::string read_file(const std::string& path) {
  const auto file = file_descriptor::open(path);
  const auto size = version_of(file, path).size;
  // One byte more than allowed, so that decode refuses it.
  std::string bytes(std::min<std::uint64_t>(size, max_snapshot_bytes + 1), '\0');
  bytes.resize(read_at(file, path, 0, std::as_writable_bytes(std::span{bytes})));
  return bytes;
}

snapshot read_part(const fs::path& directory, const part_name& name) {
  const auto path = (directory / to_string(name)).string();
  auto part = decode(read_file(path), path);
  if (name_of(part) != name)
    throw error(errc::bad_snapshot, {.stage = "snapshot",
                                     .file = path,
                                     .got = "the content of " + to_string(name_of(part)),
                                     .needed = "the content that its name says: it was renamed"});
  return part;
}

bool is_complete(const set_list::value_type& set) {
  return set.second.size() == set.first.world_size;
}

std::vector<snapshot> read_set(const fs::path& directory, const set_list::value_type& set) {
  std::vector<snapshot> parts;
  for (auto rank : set.second)
    parts.push_back(read_part(directory, {set.first, rank}));
  return parts;
}

/// Why the parts of a set cannot be added up; empty if they can.
std::string conflict_of(const std::vector<snapshot>& parts) {
  try {
    merge(parts, true);
    return {};
  } catch (const error& x) {
    return x.what();
  }
}

bool can_restore(const fs::path& directory, const set_list::value_type& set) {
  if (!is_complete(set))
    return false;
  try {
    return conflict_of(read_set(directory, set)).empty();
  } catch (const error&) {
    return false; // torn, or just removed by another rank
  }
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

std::optional<job_position> prune(const fs::path& directory, const part_name& saved,
                                  std::uint64_t keep) {
  const auto all = list(directory);
  const auto begin = all.sets.lower_bound(saved.set);
  // In most cases just the names show that nothing is to be removed, without reading any file.
  auto old = after_kept(all.sets, begin, keep, is_complete);
  if (old != all.sets.end())
    old = after_kept(all.sets, begin, keep,
                     [&](const auto& set) { return can_restore(directory, set); });
  for (auto set = old; set != all.sets.end(); ++set)
    for (auto rank : set->second)
      remove_file(directory / to_string({set->first, rank}));
  for (const auto& part : all.temporaries)
    // Another rank of this world may be writing it: a rank that started over may lag behind a set
    // that is complete with a part from its former life.
    if (part.rank == saved.rank
        || (part.set.world_size != saved.set.world_size && old != all.sets.end()
            && part.set <= old->first))
      remove_file(directory / (to_string(part) + std::string{temporary_suffix}));
  if (old == all.sets.end())
    return std::nullopt;
  const auto& oldest = std::prev(old)->first;
  return job_position{oldest.epoch, oldest.step};
}

std::string describe(const set_name& set, const std::string& why) {
  return "epoch " + std::to_string(set.epoch) + " step " + std::to_string(set.step) + ": " + why;
}

/// Why a set is skipped; empty if `parts` can be restored.
std::string read_or_explain(const fs::path& directory, const set_list::value_type& set,
                            bool allow_torn, std::vector<snapshot>& parts) {
  if (!is_complete(set))
    return std::to_string(set.second.size()) + " of " + std::to_string(set.first.world_size)
           + " parts, " + missing_ranks(set.second, set.first.world_size);
  try {
    parts = read_set(directory, set);
  } catch (const error& x) {
    if (x.code() != errc::bad_snapshot || !allow_torn)
      throw;
    return x.what();
  }
  return conflict_of(parts);
}

snapshot_store::found find_newest(const fs::path& directory, bool allow_torn) {
  snapshot_store::found result;
  for (const auto& set : list(directory).sets) {
    auto why_not = read_or_explain(directory, set, allow_torn, result.parts);
    if (why_not.empty())
      return result;
    result.parts.clear();
    result.skipped.push_back(describe(set.first, why_not));
  }
  return result;
}

} // namespace

std::optional<job_position> snapshot_store::save(const snapshot& part, std::uint64_t keep) const {
  return save(part, encode(part), keep);
}

std::optional<job_position> snapshot_store::save(const snapshot& part, std::string_view encoded,
                                                 std::uint64_t keep) const {
  if (keep == 0)
    throw error(errc::invalid_argument, {.stage = "keep", .got = "0", .needed = "at least 1"});
  const auto name = name_of(part);
  make_directory_durably(directory_);
  write_durably(directory_ / to_string(name), encoded);
  return prune(directory_, name, keep);
}

snapshot_store::found snapshot_store::newest(bool allow_older) const {
  for (;;)
    try {
      return find_newest(directory_, allow_older);
    } catch (const error& x) {
      // Another rank removed a set between listing and reading: a newer one is complete.
      if (x.code() != errc::not_found)
        throw;
    }
}

bool snapshot_store::has_entries() const {
  bool any = false;
  for_each_entry(directory_, [&](const fs::directory_entry&) { return !(any = true); });
  return any;
}

} // namespace leat
