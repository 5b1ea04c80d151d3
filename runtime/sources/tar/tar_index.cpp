#include "runtime/sources/tar/tar_index.hpp"

#include "runtime/base/mutex.hpp"
#include "runtime/base/patience.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tar/tar_member_name.hpp"
#include "runtime/storage/open_files.hpp"
#include "runtime/storage/read_now.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <thread>
#include <type_traits>
#include <unordered_map>

namespace leat {

// The file: header, fields, records, names, blob, and then, aligned, the ends of places and the
// places, each as large as the header says. Numbers are little-endian. A new layout gets a new
// magic; old files then count as damaged and are replaced.

struct tar_index::header {
  std::array<char, 8> magic;
  /// XXH3-64 of all bytes after it except the places, which are checked one by one when they are
  /// used.
  std::uint64_t checksum;
  std::uint64_t shard_bytes;
  std::int64_t shard_mtime_ns;
  std::uint64_t fields;
  std::uint64_t records;
  std::uint64_t names;
  std::uint64_t blob_bytes;
  /// How many bytes at the end of the blob are the tear.
  std::uint64_t tear_bytes;
  /// One for each field, or none.
  std::uint64_t place_ends;
  std::uint64_t place_bytes;
};

namespace {

constexpr std::array<char, 8> magic{'l', 'e', 'a', 't', 't', 'a', 'r', '3'};
constexpr std::size_t checked_from = 16;
constexpr std::size_t threads_a_core = 4;
constexpr std::size_t most_threads = 64;
/// A thread holds a shard and its index file; most descriptors are left to other uses.
constexpr std::size_t descriptors_a_thread = 8;

static_assert(sizeof(tar_field) == 16 && std::is_trivially_copyable_v<tar_field>);

/// Rounds up to an offset at which aligned data may begin.
constexpr std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

template <class T>
std::span<const T> take(const std::byte*& at, std::uint64_t count) {
  auto* first = reinterpret_cast<const T*>(at);
  at += count * sizeof(T);
  return {first, static_cast<std::size_t>(count)};
}

template <class T>
void put(std::byte*& at, const T& values) {
  const auto bytes = std::as_bytes(std::span{values});
  at = std::copy(bytes.begin(), bytes.end(), at);
}

} // namespace

/// Everything except the places, which are read one by one; 0 if this is not an index.
std::uint64_t tar_index::held_bytes(std::span<const std::byte> bytes, std::uint64_t all) {
  header h;
  if (bytes.size() < sizeof h)
    return 0;
  std::memcpy(&h, bytes.data(), sizeof h);
  // No sum below can overflow once each count is known to be below the size.
  for (auto count : {h.fields, h.records, h.names, h.blob_bytes, h.place_ends, h.place_bytes})
    if (count > all)
      return 0;
  const auto plain = sizeof h + h.fields * sizeof(tar_field) + (h.records + 1) * sizeof(record)
                     + (h.names + 1) * sizeof(std::uint32_t) + h.blob_bytes;
  const auto held = round_up(plain) + h.place_ends * sizeof(std::uint64_t);
  const bool is_index = h.magic == magic && held + h.place_bytes == all
                        && (h.place_ends == 0 || h.place_ends == h.fields)
                        && h.tear_bytes <= h.blob_bytes;
  return is_index ? held : 0;
}

std::optional<tar_index> tar_index::load(const std::string& path, const object_version& shard) {
  const auto bytes = read_index(path, sizeof(header), held_bytes);
  return bytes ? adopt(*bytes, shard) : std::nullopt;
}

std::optional<tar_index> tar_index::adopt(const index_bytes& bytes, const object_version& shard) {
  const auto held = held_bytes({bytes.data.get(), bytes.size}, bytes.all());
  if (held == 0 || held > bytes.size)
    return {};
  header h;
  std::memcpy(&h, bytes.data.get(), sizeof h);
  if (h.shard_bytes != shard.size || h.shard_mtime_ns != shard.mtime_ns
      || xxh3_64({bytes.data.get() + checked_from, held - checked_from}) != h.checksum)
    return {};
  tar_index x;
  const auto* at = bytes.data.get() + sizeof h;
  x.fields_ = take<tar_field>(at, h.fields);
  x.records_ = take<record>(at, h.records + 1);
  x.names_ = take<std::uint32_t>(at, h.names + 1);
  x.blob_ = {reinterpret_cast<const char*>(at), static_cast<std::size_t>(h.blob_bytes)};
  x.tear_ = x.blob_.substr(x.blob_.size() - h.tear_bytes);
  at = bytes.data.get() + held - h.place_ends * sizeof(std::uint64_t);
  x.place_ends_ = take<std::uint64_t>(at, h.place_ends);
  x.places_ = {bytes, held};
  x.bytes_ = bytes.data;
  x.shard_ = shard;
  return x.within_bounds() ? std::optional{std::move(x)} : std::nullopt;
}

bool tar_index::within_bounds() const noexcept {
  for (std::size_t i = 0; i + 1 < records_.size(); ++i)
    if (records_[i].key > records_[i + 1].key || records_[i].field > records_[i + 1].field)
      return false;
  const auto names = names_.size() - 1;
  // In a row: fields of a record are read together.
  auto inside = [&, end = std::uint64_t{0}](const tar_field& x) mutable {
    const bool is_good = x.name < names && x.offset() >= end && x.offset() <= shard_.size
                         && x.size <= shard_.size - x.offset();
    end = x.offset() + x.size;
    return is_good;
  };
  return records_.back().key <= blob_.size() && records_.back().field <= fields_.size()
         && std::is_sorted(names_.begin(), names_.end()) && names_.back() <= blob_.size()
         && std::is_sorted(place_ends_.begin(), place_ends_.end())
         && (place_ends_.empty() || place_ends_.back() == places_.size())
         && std::all_of(fields_.begin(), fields_.end(), inside);
}

std::vector<std::byte> tar_index::write(header h, std::span<const tar_field> fields,
                                        std::span<const record> records,
                                        std::span<const std::uint32_t> names, std::string_view blob,
                                        std::span<const std::uint64_t> place_ends,
                                        std::span<const std::byte> places) {
  h.checksum = 0;
  const auto plain =
      sizeof h + fields.size_bytes() + records.size_bytes() + names.size_bytes() + blob.size();
  const auto checked = round_up(plain) + place_ends.size_bytes();
  std::vector<std::byte> bytes(checked + places.size());
  auto* at = bytes.data() + sizeof h;
  put(at, fields);
  put(at, records);
  put(at, names);
  put(at, blob);
  at = bytes.data() + round_up(plain);
  put(at, place_ends);
  put(at, places);
  std::memcpy(bytes.data(), &h, sizeof h);
  h.checksum = xxh3_64(std::span{bytes}.subspan(checked_from, checked - checked_from));
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

std::vector<std::byte>
tar_index::with_places(std::span<const std::vector<std::byte>> of_fields) const {
  std::vector<std::uint64_t> ends;
  std::vector<std::byte> places;
  ends.reserve(of_fields.size());
  for (const auto& x : of_fields) {
    places.insert(places.end(), x.begin(), x.end());
    ends.push_back(places.size());
  }
  const header h{.magic = magic,
                 .checksum = 0,
                 .shard_bytes = shard_.size,
                 .shard_mtime_ns = shard_.mtime_ns,
                 .fields = fields_.size(),
                 .records = size(),
                 .names = names_.size() - 1,
                 .blob_bytes = blob_.size(),
                 .tear_bytes = tear_.size(),
                 .place_ends = ends.size(),
                 .place_bytes = places.size()};
  return write(h, fields_, records_, names_, blob_, ends, places);
}

/// Collects records member by member.
class tar_index_builder {
public:
  explicit tar_index_builder(std::string file) : file_(std::move(file)) {}

  void add(const tar_member& x) {
    auto name = x.regular ? split_member_path(x.path) : std::nullopt;
    if (!name)
      return;
    const auto number = intern(std::move(name->field));
    if (!continues(name->key, number))
      begin_record(name->key);
    fields_.push_back({.block = x.offset / tar_reader::block_size, .name = number, .size = x.size});
    check(x.offset / tar_reader::block_size < std::uint64_t{1} << 40, "members above 512 TiB");
  }

  void drop_last_record() {
    if (records_.empty())
      return;
    keys_.resize(records_.back().key);
    fields_.resize(records_.back().field);
    records_.pop_back();
  }

  std::vector<std::byte> finish(const object_version& shard, std::string_view tear) {
    auto blob = keys_;
    std::vector<std::uint32_t> names;
    for (const auto& name : names_) {
      names.push_back(static_cast<std::uint32_t>(blob.size()));
      blob += name;
    }
    names.push_back(static_cast<std::uint32_t>(blob.size()));
    blob += tear;
    check(blob.size() <= max_u32 && fields_.size() <= max_u32, "4 GiB of names, or 2^32 fields");
    tar_index::header h{.magic = magic,
                        .checksum = 0,
                        .shard_bytes = shard.size,
                        .shard_mtime_ns = shard.mtime_ns,
                        .fields = fields_.size(),
                        .records = records_.size(),
                        .names = names_.size(),
                        .blob_bytes = blob.size(),
                        .tear_bytes = tear.size(),
                        .place_ends = 0,
                        .place_bytes = 0};
    records_.push_back(end());
    return tar_index::write(h, fields_, records_, names, blob, {}, {});
  }

private:
  static constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t intern(std::string name) {
    auto [at, is_new] =
        numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new)
      names_.push_back(at->first);
    check(names_.size() < std::uint64_t{1} << 24, "2^24 different field names");
    return at->second;
  }

  /// True for a field that belongs to the last record.
  bool continues(std::string_view key, std::uint32_t name) const {
    if (records_.empty() || key != std::string_view{keys_}.substr(records_.back().key))
      return false;
    auto first = fields_.begin() + records_.back().field;
    return std::none_of(first, fields_.end(), [&](const auto& x) { return x.name == name; });
  }

  void begin_record(std::string_view key) {
    check(keys_.size() + key.size() <= max_u32 && fields_.size() <= max_u32,
          "4 GiB of keys, or 2^32 fields");
    records_.push_back(end());
    keys_ += key;
  }

  tar_index::record end() const {
    return {static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(fields_.size())};
  }

  void check(bool fits, std::string_view limit) const {
    if (!fits)
      throw error(errc::invalid_argument, {.stage = "tar index",
                                           .file = file_,
                                           .got = std::string{limit},
                                           .needed = "less in one shard: split it"});
  }

  std::string file_;
  std::string keys_;
  std::vector<tar_field> fields_;
  std::vector<tar_index::record> records_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::vector<std::byte> build_tar_index(tar_reader members, const object_version& shard,
                                       bool allow_torn) {
  tar_index_builder builder{members.file()};
  std::string tear;
  try {
    while (auto member = members.next()) {
      builder.add(*member);
      check_patience();
    }
  } catch (const error& x) {
    if (x.code() != errc::torn_file || !allow_torn)
      throw;
    // The tear is in it, or in the header after it, which might have been one more of its members.
    builder.drop_last_record();
    tear = x.what();
  }
  return builder.finish(shard, tear);
}

namespace {

/// The rows may be known only in the cache, if someone else made the index beside the data.
std::optional<tar_index> load_best(const std::vector<std::string>& paths,
                                   const object_version& shard, bool allow_torn) {
  std::optional<tar_index> best;
  for (const auto& path : paths) {
    auto x = tar_index::load(path, shard);
    if (!x || !(x->tear().empty() || allow_torn))
      continue;
    if (x->has_places())
      return x;
    if (!best)
      best = std::move(x);
  }
  return best;
}

} // namespace

tar_index open_tar_index(const std::string& shard, const tar_options& options,
                         const object_store& store) {
  const auto file = store.open({shard});
  const auto version = file->stat(0);
  const auto paths = index_paths(shard, options.index_dir);
  if (auto x = load_best(paths, version, options.allow_torn))
    return *std::move(x);
  auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    return read_most(*file, 0, offset, into);
  };
  auto bytes = build_tar_index(tar_reader{shard, version.size, read}, version, options.allow_torn);
  if (store_index(paths, bytes))
    for (const auto& path : paths)
      if (auto x = tar_index::load(path, version))
        return *x;
  // No place is writable: it lives in memory.
  auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return tar_index::adopt({{held, held->data()}, held->size()}, version).value();
}

std::size_t opening_threads(std::size_t shards, std::size_t cores, std::uint64_t descriptors) {
  // Headers are small reads far apart: threads wait for the store most of the time.
  const auto most = std::min({shards, cores * threads_a_core, most_threads});
  return std::clamp<std::uint64_t>(descriptors / descriptors_a_thread, 1,
                                   std::max<std::size_t>(most, 1));
}

std::vector<tar_index> open_tar_indexes(const std::vector<std::string>& shards,
                                        const tar_options& options, const object_store& store) {
  std::vector<std::optional<tar_index>> found(shards.size());
  std::vector<std::exception_ptr> failed(shards.size());
  std::atomic<std::size_t> next = 0;
  mutex telling;
  std::uint64_t done = 0;
  auto work = [&] {
    for (auto i = next++; i < shards.size(); i = next++) {
      try {
        check_patience();
        found[i] = open_tar_index(shards[i], options, store);
        mutex_lock lock{telling};
        report({"shards opened", ++done, shards.size()});
      } catch (...) { // also from the function that is told of progress
        failed[i] = std::current_exception();
      }
    }
  };
  run_in_threads(
      opening_threads(shards.size(), std::thread::hardware_concurrency(), descriptor_limit()),
      work);
  std::vector<tar_index> result;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (failed[i])
      std::rethrow_exception(failed[i]);
    result.push_back(std::move(*found[i]));
  }
  return result;
}

} // namespace leat
