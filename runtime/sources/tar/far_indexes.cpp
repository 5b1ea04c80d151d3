#include "runtime/sources/tar/far_indexes.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

namespace leat {

namespace {

/// A shard of ten million records has less.
constexpr std::uint64_t most_of_fetched_index = std::uint64_t{1} << 30;

/// An index is smaller than its shard, unless that is tiny. What is larger is something else.
constexpr std::uint64_t most_of_index_for(std::uint64_t shard_bytes) noexcept {
  constexpr std::uint64_t tiny = std::uint64_t{64} << 10;
  return std::min(most_of_fetched_index, std::max(2 * shard_bytes, tiny));
}

constexpr std::uint64_t in_manifest_grid(std::uint64_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

[[noreturn]] void refuse_manifest(const std::string& name, std::string got) {
  throw_file_error(errc::torn_file, "manifest", name, std::move(got),
                   "a manifest as `leat index --out` writes it: make it again");
}

std::vector<manifest_entry> manifest_entries(stored_objects& from, const std::string& name) {
  const auto all = from.stat(0).size;
  if (all > most_put_bytes)
    refuse_manifest(name, std::to_string(all) + " bytes, more than a manifest has");
  // Small ones come with the first request.
  constexpr std::uint64_t first_bytes = std::uint64_t{64} << 10;
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(all, first_bytes)));
  read_now(from, 0, 0, head);
  const auto size = manifest_head_bytes(head, all);
  if (size == 0)
    refuse_manifest(name, "no manifest, or one of a later version");
  const auto begun = std::min(head.size(), static_cast<std::size_t>(size));
  head.resize(static_cast<std::size_t>(size));
  if (begun < size)
    read_now(from, 0, begun, std::span{head}.subspan(begun));
  auto entries = read_manifest_head(head, all);
  if (!entries)
    refuse_manifest(name, "a damaged manifest");
  return *std::move(entries);
}

/// Nobody waits longer, and machines without memory are not asked again.
bool ends_the_search(const error& x) noexcept {
  return x.code() == errc::interrupted || x.code() == errc::no_resources;
}

void tell_unreadable(const error& x) {
  static std::atomic<bool> is_told{false};
  if (!is_told.exchange(true))
    notice(std::string{"index: one of the directory was not read, so its shard is read through: "}
           + x.what());
}

} // namespace

bool are_of_this_machine(const std::vector<std::string>& patterns) {
  return !patterns.empty() && store_of(expand_braces(patterns.front()).front()).is_near();
}

bool is_manifest_name(const std::string& index_dir) {
  return index_dir.ends_with(manifest_suffix);
}

std::string full_manifest_name(const std::string& name, const object_store& store) {
  return store.is_near() ? std::filesystem::absolute(name).lexically_normal().string()
                         : store.full_name(name);
}

std::string index_in(const std::string& directory, const std::string& shard) {
  return directory + (directory.ends_with('/') ? "" : "/") + index_file_name(shard);
}

far_indexes::far_indexes(const object_store& store, const std::string& index_dir,
                         const store_set& in, std::span<const std::string> shards)
    : store_(store) {
  if (is_manifest_name(index_dir)) {
    read_manifest(index_dir, in, shards);
    return;
  }
  const auto& of = in.of(index_dir);
  if (index_dir.empty() || of.is_near())
    return;
  directory_in_ = &of;
  directory_ = of.full_name(index_dir);
}

void far_indexes::read_manifest(const std::string& name, const store_set& in,
                                std::span<const std::string> shards) {
  const auto& store = in.of(name);
  manifest_ = full_manifest_name(name, store);
  const auto object = store.open({manifest_});
  std::unordered_map<std::string, kept_entry> known;
  for (auto& x : manifest_entries(*object, manifest_)) {
    auto shard = name_by_manifest(x.name, manifest_);
    known.insert_or_assign(std::move(shard), kept_entry{.is = std::move(x)});
  }
  std::vector<kept_entry*> wanted;
  for (const auto& x : shards)
    if (const auto at = known.find(x); at != known.end()) {
      auto& kept = entries_[x] = std::move(at->second);
      wanted.push_back(&kept);
    }
  std::sort(wanted.begin(), wanted.end(),
            [](const auto* a, const auto* b) { return a->is.begin < b->is.begin; });
  std::size_t bytes = 0;
  for (auto* x : wanted) {
    x->at = bytes;
    bytes += static_cast<std::size_t>(in_manifest_grid(x->is.bytes));
  }
  indexes_ = std::make_shared<std::vector<std::byte>>(bytes);
  std::vector<read_part> parts; // those that follow each other are one request
  parts.reserve(wanted.size());
  for (const auto* x : wanted)
    if (x->is.bytes > 0)
      parts.push_back({.object = 0,
                       .offset = x->is.begin,
                       .into = std::span{*indexes_}.subspan(
                           x->at, static_cast<std::size_t>(in_manifest_grid(x->is.bytes)))});
  if (!parts.empty())
    read_now(*object, parts);
}

std::optional<object_version> far_indexes::version_of(const std::string& shard) const {
  const auto at = entries_.find(shard);
  return at == entries_.end() ? std::nullopt : std::optional{at->second.is.version};
}

std::optional<tar_index> far_indexes::in_manifest(const std::string& shard,
                                                  const object_version& version) const {
  if (manifest_.empty())
    return {};
  const char* problem = nullptr;
  auto found = fitting(shard, version, problem);
  if (!found) {
    const mutex_lock lock{mutex_};
    if (unfit_.count++ == 0)
      unfit_.first = shard + ", " + problem;
  }
  return found;
}

/// `problem` is set where there is none.
std::optional<tar_index> far_indexes::fitting(const std::string& shard,
                                              const object_version& version,
                                              const char*& problem) const {
  const auto at = entries_.find(shard);
  problem = "which it does not name";
  if (at == entries_.end())
    return {};
  const auto& x = at->second;
  const auto size = static_cast<std::size_t>(x.is.bytes);
  const auto index = std::span<const std::byte>{*indexes_}.subspan(x.at, size);
  problem = "whose index in it is damaged";
  if (size == 0 || xxh3_128(index) != x.is.digest)
    return {};
  problem = "of which it has another version";
  auto found = tar_index::adopt({{indexes_, index.data()}, size}, version);
  return found && found->size() == x.is.records ? std::move(found) : std::nullopt;
}

void far_indexes::tell_unfit() const {
  const mutex_lock lock{mutex_};
  if (unfit_.count > 0)
    notice("index: the manifest " + as_utf8(manifest_) + " has none that fits "
           + counted(unfit_.count, "shard") + " (" + as_utf8(unfit_.first)
           + (unfit_.count > 1 ? ", ..." : "")
           + "): looked for elsewhere; leat index --out makes the manifest again");
}

bool far_indexes::take(const object_store& from, const std::string& name,
                       const object_version& version, std::vector<std::byte>& into) {
  const auto object = from.open({name});
  const auto size = object->stat(0).size;
  if (size == 0 || size > most_of_index_for(version.size))
    return false;
  into.resize(static_cast<std::size_t>(size));
  read_now(*object, 0, 0, into);
  const std::shared_ptr<const std::byte> borrowed{std::shared_ptr<void>{}, into.data()};
  return tar_index::adopt({borrowed, into.size()}, version).has_value();
}

std::optional<std::vector<std::byte>> far_indexes::fetch(const std::string& shard,
                                                         const object_version& version) const {
  std::vector<std::byte> bytes;
  if (directory_in_)
    try {
      if (take(*directory_in_, index_in(directory_, shard), version, bytes))
        return bytes;
    } catch (const error& x) {
      if (ends_the_search(x))
        throw;
      if (x.code() != errc::not_found)
        tell_unreadable(x);
    }
  if (!store_.is_near())
    try {
      if (take(store_, shard + std::string{index_suffix}, version, bytes))
        return bytes;
    } catch (const error& x) { // many servers refuse to say that there is none
      if (ends_the_search(x))
        throw;
    }
  return {};
}

} // namespace leat
