#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "runtime/sources/tar/tar_manifest.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace leat {

/// Where indexes of shards lie that this machine does not have: in a manifest, in a directory on a
/// server, beside the shards on theirs. Any thread may ask.
class far_indexes : not_copied {
public:
  /// Those beside shards of this store, which outlives it.
  explicit far_indexes(const object_store& store) : store_(store) {}
  /// Also those of what `index_dir` names: a manifest, of which it reads what is of these shards,
  /// or a directory on a server; a directory of this machine has none of these. Throws
  /// `errc::torn_file` for what is no manifest, or is damaged, and what reading it throws.
  far_indexes(const object_store& store, const std::string& index_dir, const store_set& in,
              std::span<const std::string> shards);

  /// The version of a shard, as the manifest has it; nothing if it does not say.
  std::optional<object_version> version_of(const std::string& shard) const;
  /// The index in the manifest; empty if it has none of this version, or a damaged one, which
  /// `tell_unfit` then counts.
  std::optional<tar_index> in_manifest(const std::string& shard,
                                       const object_version& version) const;
  /// The bytes of the index in the directory, or else beside the shard; nothing if neither has one
  /// of this version. What cannot be read is not there: a notice says so of the directory, once.
  std::optional<std::vector<std::byte>> fetch(const std::string& shard,
                                              const object_version& version) const;
  /// A notice for all shards that the manifest did not serve, if there are any: how many, and why
  /// the first one.
  void tell_unfit() const;

private:
  struct kept_entry {
    manifest_entry is;
    /// Where its index lies in `indexes_`.
    std::size_t at = 0;
  };
  struct unfit_shards {
    std::uint64_t count = 0;
    std::string first = {};
  };

  std::optional<tar_index> fitting(const std::string& shard, const object_version& version,
                                   const char*& problem) const;
  void read_manifest(const std::string& name, const store_set& in,
                     std::span<const std::string> shards);
  /// False: there is none of this version.
  static bool take(const object_store& from, const std::string& name, const object_version& version,
                   std::vector<std::byte>& into);

  const object_store& store_;
  /// The directory, without "/" at its end, and its store; null if there is none.
  const object_store* directory_in_ = nullptr;
  std::string directory_;
  /// By the full names of shards.
  std::unordered_map<std::string, kept_entry> entries_;
  std::shared_ptr<std::vector<std::byte>> indexes_;
  /// The full name of the manifest; empty if there is none.
  std::string manifest_;
  mutable mutex mutex_;
  mutable unfit_shards unfit_ LEAT_GUARDED_BY(mutex_);
};

/// For errors: what was got where indexes would be those of other files.
inline constexpr auto index_of_a_copy = "a place on a server, and shards of this machine";
/// Whether these patterns name files of this machine.
bool are_of_this_machine(const std::vector<std::string>& patterns);
/// Whether `index_dir` names a manifest.
bool is_manifest_name(const std::string& index_dir);
/// The full name of a manifest, in the store that it belongs to. Throws `errc::invalid_argument`.
std::string full_manifest_name(const std::string& name, const object_store& store);
/// The name of a shard's index in a directory. `directory` is a full name.
std::string index_in(const std::string& directory, const std::string& shard);

} // namespace leat
