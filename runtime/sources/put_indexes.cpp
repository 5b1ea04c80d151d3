#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/sources/tar/far_indexes.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "runtime/sources/tar/tar_manifest.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/row_index.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::size_t most_puts_at_once = 16;
constexpr auto usual_manifest = "data.leat-manifest";

/// The tar shards that a pipeline reads.
struct put_source {
  std::vector<std::string> patterns = {};
  tar_options options = {};
  const store_set* in = nullptr;
};

put_source put_source_of(const pipeline& data) {
  std::optional<put_source> found;
  check_tree_size(data.root());
  for_each_operator(data.root(), [&](const operator_node& x) {
    if (!x.is_source())
      return;
    if (x.op != "tar_shards" || found)
      refuse_argument("index", found ? "several sources" : x.op,
                      "one tar_shards, whose indexes are to be stored");
    found = {.patterns = x.get<std::vector<std::string>>("patterns"),
             .options = {.index_dir = x.get<std::string>("index_dir"),
                         .allow_torn = x.get<bool>("allow_torn")},
             .in = &x.names_in()};
  });
  if (!found)
    refuse_argument("index", "no source", "tar_shards, whose indexes are to be stored");
  return *std::move(found);
}

/// Where indexes go.
struct put_place {
  const object_store* store = nullptr;
  /// Full names: the folder without "/" at its end, empty if only a manifest is stored.
  std::string folder = {};
  std::string manifest = {};

  std::string name_for(const std::string& shard) const {
    const auto slash = shard.rfind('/');
    const bool is_beside = slash != std::string::npos && shard.substr(0, slash) == folder;
    return is_beside ? shard + std::string{index_suffix} : index_in(folder, shard);
  }
};

put_place put_place_of(const std::string& out, const put_source& of) {
  if (out.empty())
    refuse_argument("index", "no place for the indexes", "a folder, or the name of a manifest");
  const auto& store = of.in->of(out);
  const auto named = as_utf8(without_secrets(out));
  if (!store.can_put() || (store.is_near() && !scheme_of(out).empty()))
    throw_file_error(errc::invalid_argument, "index", named, "an address where leat puts nothing",
                     places_to_put);
  if (!store.is_near() && are_of_this_machine(of.patterns))
    throw_file_error(errc::invalid_argument, "index", named, index_of_a_copy,
                     "the shards by their addresses: the index of a file is not that of its copy "
                     "in a bucket");
  if (is_manifest_name(out))
    return {.store = &store, .manifest = full_manifest_name(out, store)};
  auto folder = full_manifest_name(out, store);
  while (folder.size() > 1 && folder.ends_with('/'))
    folder.pop_back();
  return {.store = &store, .folder = folder, .manifest = folder + "/" + usual_manifest};
}

/// Puts the indexes of shards, several at a time.
class index_putter {
public:
  index_putter(const put_place& to, const file_set& shards, const std::vector<tar_index>& indexes,
               const tar_options& options)
      : to_(to), shards_(shards), indexes_(indexes), options_(options) {}

  /// Bytes that were put.
  std::uint64_t run() {
    std::vector<std::exception_ptr> failed(indexes_.size());
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> is_over = false;
    const auto work = [&] {
      for (auto i = next++; i < indexes_.size() && !is_over; i = next++)
        try {
          check_patience();
          put(i);
        } catch (...) {
          failed[i] = std::current_exception();
          is_over = true;
        }
    };
    run_in_threads(std::min(indexes_.size(), most_puts_at_once), work);
    for (const auto& x : failed)
      if (x)
        std::rethrow_exception(x);
    return bytes_;
  }

private:
  void put(std::size_t i) {
    const auto& shard = shards_.paths[i];
    const auto bytes = whole_tar_index(shard, indexes_[i], options_);
    to_.store->put(to_.name_for(shard), bytes);
    bytes_ += bytes.size();
  }

  const put_place& to_;
  const file_set& shards_;
  const std::vector<tar_index>& indexes_;
  const tar_options& options_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

/// Also adds up what `facts` says of the manifest.
std::vector<std::byte> manifest_of(const file_set& files, const std::vector<tar_index>& indexes,
                                   put_index_facts& facts) {
  std::vector<manifest_shard> shards;
  shards.reserve(indexes.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < indexes.size() && bytes <= most_put_bytes; ++i) {
    const auto& x = indexes[i];
    facts.records += x.size();
    shards.push_back({.name = name_in_manifest(files.paths[i], facts.manifest),
                      .version = x.shard(),
                      .records = x.size(),
                      .index = x.without_places()});
    bytes += shards.back().index.size();
  }
  auto manifest = write_manifest(shards, facts.manifest); // refuses too many bytes
  facts.manifest_bytes = manifest.size();
  return manifest;
}

} // namespace

void check_put_indexes(const pipeline& data, const std::string& out) {
  (void)put_place_of(out, put_source_of(data));
}

put_index_facts put_indexes(const pipeline& data, const std::string& out) {
  const auto source = put_source_of(data);
  const auto to = put_place_of(out, source);
  const auto files = find_files(source.patterns, "index", file_kinds::plain, *source.in);
  const auto objects = files.store->open(files.paths);
  if (!files.store->is_near()) { // a manifest that `index_dir` names may have versions of before
    objects->expect_stats();
    for (std::size_t i = 0; i < files.paths.size(); ++i)
      (void)objects->stat(i);
  }
  const auto indexes =
      open_tar_indexes(*files.store, *objects, files.paths, source.options, *source.in);
  put_index_facts facts{.manifest = to.manifest, .shards = indexes.size()};
  const auto manifest = manifest_of(files, indexes, facts);
  if (!to.folder.empty())
    facts.index_bytes = index_putter{to, files, indexes, source.options}.run();
  to.store->put(to.manifest, manifest);
  return facts;
}

} // namespace leat
