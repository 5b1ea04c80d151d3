#include "runtime/storage/stream_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/read_now.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace leat {

namespace {

/// `ending` is in lower case; the name's letters may be of either case.
bool has_ending(std::string_view name, std::string_view ending) {
  const auto is_same = [](char lower, char x) {
    return lower == (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x);
  };
  return name.size() >= ending.size()
         && std::equal(ending.begin(), ending.end(),
                       name.substr(name.size() - ending.size()).begin(), is_same);
}

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

} // namespace

packing packing_of(std::string_view name) noexcept {
  if (has_ending(name, ".gz") || has_ending(name, ".tgz"))
    return packing::gzip;
  return has_ending(name, ".zst") || has_ending(name, ".tzst") ? packing::zstd : packing::none;
}

stream_files::stream_files(file_set files, read_pattern pattern)
    : serial_(next_serial()), names_(std::move(files.names)), others_(std::move(files.others)),
      are_near_(files.store->is_near()) {
  if (are_near_)
    for (const auto& path : files.paths)
      facts_of_.push_back(look_at(path, *files.store));
  objects_ = files.store->open(files.paths, pattern);
  if (are_near_)
    return;
  objects_->expect_stats();
  for (std::size_t i = 0; i < files.paths.size(); ++i)
    facts_of_.push_back(
        {.bytes = objects_->stat(i).size, .is_pipe = false, .packed = packing_of(files.paths[i])});
}

stream_files::file_facts stream_files::look_at(const std::string& path, const object_store& store) {
  const auto x = store.stat(path);
  if (x.is != object_kind::plain)
    return {.bytes = 0, .is_pipe = true, .packed = packing_of(path)};
  return {.bytes = x.version.size, .is_pipe = false, .packed = packing_of(path)};
}

std::size_t stream_files::read(std::size_t file, std::uint64_t offset, std::span<std::byte> into,
                               const std::stop_token& stop) const {
  const auto size = bytes(file);
  const auto part = into.first(std::min<std::uint64_t>(into.size(), size - std::min(size, offset)));
  if (!part.empty())
    read_now(*objects_, file, offset, part, stop);
  return part.size();
}

stream_files::open_pipe stream_files::take_pipe(std::size_t file) const {
  {
    const mutex_lock lock{pipes_mutex_};
    const auto [at, is_new] = pipes_.try_emplace(file);
    if (!is_new && !at->second)
      throw_file_error(errc::invalid_argument, "open", path(file), "a pipe that was read before",
                       "a plain file, or a source that exists once: standard_input, once");
    if (!is_new)
      return *std::exchange(at->second, std::nullopt);
  }
  return {.place = descriptor_budget::place{process_descriptors()},
          .descriptor = file_descriptor::open_pipe(path(file)),
          .is_new = true};
}

void stream_files::give_back_pipe(std::size_t file, open_pipe x) const noexcept {
  x.is_new = false;
  const mutex_lock lock{pipes_mutex_};
  pipes_.at(file) = std::move(x); // does not throw: it was taken
}

source_facts stream_files::facts() const {
  source_facts x{.files = size(), .records = 0, .bytes = 0, .digest = {}};
  hash_stream hash;
  for (std::size_t i = 0; i < size(); ++i) {
    hash.add(names_[i]);
    hash.add(bytes(i));
    x.bytes += bytes(i);
  }
  x.digest = hash.digest128();
  if (!are_near_)
    x.versions = versions_of(*objects_, size());
  return x;
}

} // namespace leat
