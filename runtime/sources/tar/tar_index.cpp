#include "runtime/sources/tar/tar_index.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tar/far_indexes.hpp"
#include "runtime/sources/tar/tar_member_name.hpp"
#include "runtime/storage/byte_window.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/far_stream.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <thread>
#include <type_traits>
#include <unordered_map>

namespace leat {

// Sections: "fields", "headers", "records", "names", "text" (keys and names), "others" and "tear";
// "apart", if there is something to say; and once the shard's images have been surveyed, those of
// indexed_places, by the numbers of fields.

namespace {

constexpr std::size_t threads_a_core = 4;
constexpr std::size_t most_threads = 64;
/// A thread holds a shard and its index file; most descriptors are left to other uses.
constexpr std::size_t descriptors_a_thread = 8;

static_assert(sizeof(tar_field) == 16 && std::is_trivially_copyable_v<tar_field>);
static_assert(sizeof(tar_header_mark) == 8 && std::is_trivially_copyable_v<tar_header_mark>);

/// What is read to find a header, where content is read to its place.
constexpr std::size_t header_block_bytes = 8192;

/// Indexes by other rules of what is a record have other subjects.
constexpr std::string_view tar_rules = "tar shard";

hash128 subject_of(const object_version& shard) {
  hash_stream hash;
  hash.add(tar_rules);
  hash.add(shard.size);
  hash.add(static_cast<std::uint64_t>(shard.mtime_ns));
  if (shard.mtime_ns == object_version::no_time)
    hash.add(shard.tag);
  return hash.digest128();
}

} // namespace

std::optional<tar_index> tar_index::load(const std::string& path, const object_version& shard) {
  return from(index_sections::load(path, subject_of(shard)), shard);
}

std::optional<tar_index> tar_index::adopt(const index_bytes& bytes, const object_version& shard) {
  return from(index_sections::adopt(bytes, subject_of(shard)), shard);
}

std::optional<tar_index> tar_index::from(std::optional<index_sections> found,
                                         const object_version& shard) {
  if (!found)
    return {};
  const auto fields = found->array<tar_field>("fields");
  const auto headers = found->array<tar_header_mark>("headers");
  const auto records = found->array<record>("records");
  const auto names = found->array<std::uint32_t>("names");
  const auto blob = found->text("text");
  const auto tear = found->text("tear");
  const auto others = found->text("others");
  auto passed = others ? passed_over::decoded(*others) : std::nullopt;
  if (!fields || !headers || !records || !names || !blob || !tear || !passed)
    return {};
  const auto places = indexed_places::in(*found, fields->size());
  if (!places)
    return {};
  tar_index x;
  x.fields_ = *fields;
  x.headers_ = *headers;
  x.records_ = *records;
  x.names_ = *names;
  x.blob_ = *blob;
  x.tear_ = *tear;
  x.apart_ = found->text("apart").value_or(std::string_view{});
  x.others_ = *std::move(passed);
  x.places_ = *places;
  x.sections_ = std::move(found);
  x.shard_ = shard;
  return x.within_bounds() ? std::optional{std::move(x)} : std::nullopt;
}

bool tar_index::within_bounds() const noexcept {
  if (records_.empty() || names_.empty() || headers_.size() != fields_.size())
    return false;
  for (std::size_t i = 0; i + 1 < records_.size(); ++i)
    if (records_[i].key > records_[i + 1].key || records_[i].field > records_[i + 1].field)
      return false;
  const auto names = names_.size() - 1;
  // In a row, each after its headers: fields of a record are read together.
  auto inside = [&, end = std::uint64_t{0}](const tar_field& x) mutable {
    const auto blocks = headers_[number_of(x)].blocks;
    const bool is_good = x.name < names && blocks > 0 && blocks <= tar_header_mark::max_blocks
                         && x.offset() >= end + blocks * tar_reader::block_size
                         && x.offset() <= shard_.size && x.size <= shard_.size - x.offset();
    end = x.offset() + x.size;
    return is_good;
  };
  return records_.back().key <= blob_.size() && records_.back().field <= fields_.size()
         && std::is_sorted(names_.begin(), names_.end()) && names_.back() <= blob_.size()
         && std::all_of(fields_.begin(), fields_.end(), inside);
}

std::vector<std::byte> tar_index::with_places(const surveyed_places& of_fields) const {
  auto to = begun();
  indexed_places::write(to, of_fields);
  return std::move(to).finish();
}

std::vector<std::byte> tar_index::without_places() const {
  return begun().finish();
}

index_writer tar_index::begun() const {
  index_writer to{subject_of(shard_)};
  to.hold("fields", std::as_bytes(fields_));
  to.hold("headers", std::as_bytes(headers_));
  to.hold("records", std::as_bytes(records_));
  to.hold("names", std::as_bytes(names_));
  to.hold("text", blob_);
  to.hold("others", others_.encoded());
  to.hold("tear", tear_);
  if (!apart_.empty())
    to.hold("apart", apart_);
  return to;
}

/// Collects records member by member.
class tar_index_builder {
public:
  explicit tar_index_builder(std::string file) : file_(std::move(file)) {}

  /// The member that the reader has just given. False if it is no field of a record.
  bool add(const tar_member& x, tar_reader& from) {
    auto name = field_of(x);
    if (!name) {
      count_passed_over(x, others_);
      return false;
    }
    const auto number = intern(std::move(name->field));
    if (!continues(name->key, number)) {
      note_return(name->key, number);
      begin_record(name->key);
    }
    fields_.push_back({.block = x.offset / tar_reader::block_size, .name = number, .size = x.size});
    headers_.push_back(from.header_mark());
    check(x.offset / tar_reader::block_size < std::uint64_t{1} << 40, "members above 512 TiB");
    return true;
  }

  void add_rest(std::uint64_t begin, std::uint64_t shard_bytes) {
    others_.add(passed_over_reason::rest, std::to_string(shard_bytes - begin) + " bytes from byte "
                                              + std::to_string(begin) + " on");
  }

  void drop_last_record() {
    if (records_.empty())
      return;
    keys_.resize(records_.back().key);
    fields_.resize(records_.back().field);
    headers_.resize(fields_.size());
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
    check(blob.size() <= max_u32 && fields_.size() <= max_u32, "4 GiB of names, or 2^32 fields");
    records_.push_back(end());
    index_writer to{subject_of(shard)};
    to.hold("fields", fields_);
    to.hold("headers", headers_);
    to.hold("records", records_);
    to.hold("names", names);
    to.hold("text", blob);
    to.hold("others", others_.encoded());
    to.hold("tear", tear);
    if (apart_.count > 0)
      to.hold("apart", apart_text());
    return std::move(to).finish();
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

  /// A key that was there before makes another sample with its id.
  void note_return(std::string_view key, std::uint32_t field) {
    const auto hash = xxh3_64(std::as_bytes(std::span{key.data(), key.size()}));
    const auto [at, is_new] = first_fields_.try_emplace(hash, fields_.size());
    if (is_new)
      return;
    if (apart_.count++ == 0)
      apart_.first = std::string{key} + '.' + names_[field] + " after " + std::string{key} + '.'
                     + names_[fields_[at->second].name];
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

  std::string apart_text() const {
    const bool one = apart_.count == 1;
    return std::to_string(apart_.count)
           + (one ? " sample has the id of an earlier one" : " samples have ids of earlier ones")
           + " (" + apart_.first + (one ? "" : ", ...")
           + "): the members of a key must be neighbours, of different names; tar --sort=name "
             "makes them neighbours";
  }

  void check(bool fits, std::string_view limit) const {
    if (!fits)
      throw_file_error(errc::invalid_argument, "tar index", file_, std::string{limit},
                       "less in one shard: split it");
  }

  std::string file_;
  std::string keys_;
  std::vector<tar_field> fields_;
  std::vector<tar_header_mark> headers_;
  std::vector<tar_index::record> records_;
  std::vector<std::string> names_;
  passed_over others_;
  /// By the hash of a key: the first field of its first record.
  std::unordered_map<std::uint64_t, std::size_t> first_fields_;
  struct {
    std::uint64_t count = 0;
    std::string first = {};
  } apart_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::vector<std::byte> build_tar_index(tar_reader members, const object_version& shard,
                                       bool allow_torn, const on_tar_field& found) {
  tar_index_builder builder{members.file()};
  std::string tear;
  try {
    while (auto member = members.next()) {
      if (builder.add(*member, members) && found)
        found(*member);
      check_patience();
    }
    if (const auto rest = members.rest())
      builder.add_rest(*rest, shard.size);
  } catch (const error& x) {
    if (x.code() != errc::torn_file || !allow_torn)
      throw;
    // The tear is in it, or in the header after it, which might have been one more of its members.
    // Without an end mark it may be complete: only its reader can tell.
    if (!members.lacks_end_mark())
      builder.drop_last_record();
    tear = x.what();
  }
  return builder.finish(shard, tear);
}

namespace {

bool may_use(const tar_index& x, bool allow_torn) noexcept {
  return x.tear().empty() || allow_torn;
}

/// The places may be known only in the cache, if someone else made the index beside the data.
std::optional<tar_index> load_best(const std::vector<std::string>& paths,
                                   const object_version& shard, bool allow_torn) {
  std::optional<tar_index> best;
  for (const auto& path : paths) {
    auto x = tar_index::load(path, shard);
    if (!x || !may_use(*x, allow_torn))
      continue;
    if (x->places().are_complete())
      return x;
    if (!best || (x->has_rows() && !best->has_rows()))
      best = std::move(x);
  }
  return best;
}

/// Where nobody has one.
std::vector<std::byte> new_index(const object_store& store, stored_objects& objects,
                                 std::size_t number, const object_version& version,
                                 bool allow_torn) {
  rising_reads rising{objects, number, version.size};
  auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    return store.is_near() ? read_most(objects, number, offset, into) : rising.read(offset, into);
  };
  return build_tar_index(tar_reader{objects.name(number), version.size, read}, version, allow_torn);
}

/// Held, where no place of this machine takes it.
tar_index kept_index(std::vector<std::byte> bytes, const std::vector<std::string>& paths,
                     const object_version& version) {
  if (store_index(paths, bytes))
    for (const auto& path : paths)
      if (auto x = tar_index::load(path, version))
        return *x;
  auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return tar_index::adopt({{held, held->data()}, held->size()}, version).value();
}

} // namespace

tar_index open_tar_index(const std::string& shard, const tar_options& options) {
  const auto& store = store_of(shard);
  return open_tar_index(store, *store.open({shard}), 0, options);
}

tar_index open_tar_index(const object_store& store, stored_objects& objects, std::size_t number,
                         const tar_options& options, const far_indexes* far) {
  const far_indexes beside{store};
  if (auto found = find_tar_index(objects, number, options, far ? *far : beside))
    return *std::move(found);
  const auto version = objects.stat(number);
  return kept_index(new_index(store, objects, number, version, options.allow_torn),
                    index_paths(objects.name(number), options.index_dir), version);
}

std::optional<tar_index> find_tar_index(stored_objects& objects, std::size_t number,
                                        const tar_options& options, const far_indexes& far) {
  const auto shard = objects.name(number);
  const auto version = objects.stat(number);
  const auto paths = index_paths(shard, options.index_dir);
  if (auto x = load_best(paths, version, options.allow_torn))
    return x;
  if (auto x = far.in_manifest(shard, version); x && may_use(*x, options.allow_torn))
    return x;
  if (auto bytes = far.fetch(shard, version)) {
    auto x = kept_index(*std::move(bytes), paths, version);
    if (may_use(x, options.allow_torn))
      return x;
  }
  return {};
}

tar_index visited_tar_index(stored_objects& objects, std::size_t number, bool allow_torn,
                            const tar_field_visitor& visit) {
  const auto version = objects.stat(number);
  const auto name = objects.name(number);
  byte_window window{name, std::make_unique<far_stream>(objects, number, 0, version.size),
                     header_block_bytes, std::make_shared<shared_bytes_pool>(1),
                     window_reads::straight};
  const auto read_headers = [&](std::uint64_t offset, std::span<std::byte> into) {
    window.forget_before(offset);
    const auto held = window.from(offset, into.size());
    const auto n = std::min(held.size(), into.size());
    std::copy_n(held.begin(), n, into.begin());
    return n;
  };
  const byte_reader read = [&](std::uint64_t offset, std::span<std::byte> into) {
    window.read_into(into, offset);
    return into.size();
  };
  auto bytes = build_tar_index(tar_reader{name, version.size, read_headers}, version, allow_torn,
                               [&](const tar_member& x) { visit(x.offset, x.size, read); });
  auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return tar_index::adopt({{held, held->data()}, held->size()}, version).value();
}

std::vector<std::byte> whole_tar_index(const std::string& shard, const tar_index& index,
                                       const tar_options& options) {
  constexpr std::size_t most = std::size_t{1} << 32;
  if (index.has_rows())
    for (const auto& path : index_paths(shard, options.index_dir)) {
      const auto found = tar_index::load(path, index.shard());
      if (!found || !found->has_rows() || found->size() != index.size())
        continue;
      const auto bytes = read_whole_file(path, most, "index");
      const auto all = std::as_bytes(std::span{bytes});
      return {all.begin(), all.end()};
    }
  return index.without_places();
}

std::size_t opening_threads(std::size_t shards, std::size_t cores, std::uint64_t descriptors) {
  // Headers are small reads far apart: threads wait for the store most of the time.
  const auto most = std::min({shards, cores * threads_a_core, most_threads});
  return std::clamp<std::uint64_t>(descriptors / descriptors_a_thread, 1,
                                   std::max<std::size_t>(most, 1));
}

std::vector<tar_index> open_tar_indexes(const std::vector<std::string>& shards,
                                        const tar_options& options) {
  const auto& store = shards.empty() ? local_store() : store_of(shards.front());
  return open_tar_indexes(store, *store.open(shards), shards, options);
}

std::vector<tar_index> open_tar_indexes(const object_store& store, stored_objects& objects,
                                        const std::vector<std::string>& shards,
                                        const tar_options& options, const store_set& in) {
  const far_indexes far{store, options.index_dir, in, shards};
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (const auto version = far.version_of(objects.name(i)))
      objects.expect_version(i, *version);
  std::vector<std::optional<tar_index>> found(shards.size());
  std::vector<std::exception_ptr> failed(shards.size());
  std::atomic<std::size_t> next = 0;
  mutex telling;
  std::uint64_t done = 0;
  objects.expect_stats();
  auto work = [&] {
    for (auto i = next++; i < shards.size(); i = next++) {
      try {
        check_patience();
        // Files are opened for this alone: a job that reads few shards holds few of them.
        found[i] = store.is_near()
                       ? open_tar_index(store, *store.open({shards[i]}), 0, options, &far)
                       : open_tar_index(store, objects, i, options, &far);
        mutex_lock lock{telling};
        report({"shards opened", ++done, shards.size()});
      } catch (...) { // also from the function that hears of progress
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
  far.tell_unfit();
  return result;
}

} // namespace leat
