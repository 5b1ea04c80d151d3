#include "runtime/sources/row_index.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/image/image_format.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/sources/tar/far_indexes.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/far_stream.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>
#include <string_view>
#include <thread>

namespace leat {

namespace {

constexpr std::size_t max_pixels = std::size_t{1} << 27; // as in decode_options
/// A JPEG of more bytes is left without places; none of `max_pixels` comes near this.
constexpr std::uint64_t max_bytes = 4 * max_pixels;
constexpr std::uint64_t head_bytes = 4096;
/// Enough to tell a JPEG from other files.
constexpr std::uint64_t magic_bytes = 16;

/// Places of a JPEG, as they are kept; nothing where they cannot be found.
struct jpeg_places {
  std::vector<std::byte> rows = {};
  std::vector<std::byte> work = {};
};

jpeg_places places_of(plane_decoder& decoder, std::span<const std::byte> file) try {
  decoder.open(file, max_pixels);
  std::vector<work_place> work;
  const auto rows = decoder.survey(&work);
  if (rows.empty())
    return {};
  return {write_row_places(file, rows), write_work_places(file, work)};
} catch (const bad_sample&) {
  return {}; // whoever reads the image gets the error
}

bool is_jpeg_name(std::string_view field) noexcept {
  return field == "jpg" || field == "jpeg" || field == "jfif";
}

/// Called with the bytes of data that are done.
using on_bytes = std::function<void(std::uint64_t)>;

void expect_same(const object_version& now, const object_version& before,
                 const std::string& shard) {
  if (now != before)
    throw_file_error(errc::io, "row index", shard, "a file that was replaced while it was read",
                     "data that does not change meanwhile");
}

/// One thread's work, shard by shard or class by class. Leaves alone what has been surveyed before.
class surveyor {
public:
  /// `others`: where this machine has no index.
  void survey(const std::string& shard, const object_store& in, const tar_options& options,
              const far_indexes& others, const on_bytes& tell) {
    // Opened first: otherwise an index of another file might be kept as one of this.
    const auto file = in.open({shard});
    survey(*file, 0, open_tar_index(in, *file, 0, options, &others), in, options, tell);
  }
  /// Surveys a shard that is not on this machine, which is read once for all of its index.
  void survey_far(stored_objects& objects, std::size_t number, const object_store& in,
                  const tar_options& options, const far_indexes& others, const on_bytes& tell) {
    if (const auto found = find_tar_index(objects, number, options, others))
      return survey(objects, number, *found, in, options, tell);
    const auto before = facts;
    surveyed_places places;
    std::uint64_t told = 0;
    const auto index =
        visited_tar_index(objects, number, options.allow_torn,
                          [&](std::uint64_t offset, std::uint64_t size, const byte_reader& read) {
                            add(survey(read, offset, size), places);
                            tell(size);
                            told += size;
                          });
    if (index.tear().empty())
      store(index_paths(objects.name(number), options.index_dir), index.with_places(places));
    else { // the walk has met fields that the index does not have: read again, without them
      facts = before;
      survey(objects, number, index, in, options, [](std::uint64_t) { check_patience(); });
    }
    tell(index.shard().size - told);
  }
  void survey(stored_objects& objects, std::size_t number, const tar_index& index,
              const object_store& in, const tar_options& options, const on_bytes& tell) {
    const auto shard = objects.name(number);
    const auto version = objects.stat(number);
    expect_same(index.shard(), version, shard);
    const auto& kept = index.places();
    const auto fields = index.all_fields();
    if (kept.are_complete() && are_whole(kept, fields.size())) {
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (in.is_near())
          count_known(objects, number, fields[i].offset(), fields[i].size, kept, i);
        else // a request for each first byte would take longer than to read all of the shard
          count_known(is_jpeg_name(index.name(fields[i])), fields[i].size, kept, i);
      return tell(index.shard().size);
    }
    count_completed(kept);
    surveyed_places places;
    std::uint64_t told = 0;
    rising_reads rising{objects, number, version.size};
    const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
      if (in.is_near() || rising.read(offset, into) < into.size())
        read_now(objects, number, offset, into);
    };
    for (const auto& field : fields) {
      add(survey(read, field.offset(), field.size), places);
      tell(field.size);
      told += field.size;
    }
    store(index_paths(shard, options.index_dir), index.with_places(places));
    tell(index.shard().size - told);
  }

  void survey(const folder_files& files, stored_objects& objects, const class_folder& folder,
              const folder_options& options, const on_bytes& tell) {
    const auto images = files.of(folder);
    const auto index = open_folder_index(files, folder, options);
    if (index && index->places().are_complete() && are_whole(index->places(), images.size())) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        count_known(objects, folder.first + i, 0, images[i].bytes, index->places(), i);
        tell(images[i].bytes);
      }
      return;
    }
    if (index)
      count_completed(index->places());
    surveyed_places places;
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
        read_now(objects, folder.first + i, offset, into);
      };
      add(survey(read, 0, images[i].bytes), places);
      tell(images[i].bytes);
    }
    if (!images.empty())
      store(folder_index_paths(files, folder, options), folder_index::write(images, places));
  }

  row_index_facts facts;

private:
  bool are_whole(const indexed_places& x, std::size_t count) {
    const auto whole = [&](place_kind kind, std::size_t i, auto check) {
      content_.resize(x.place_bytes(kind, i));
      return x.read_places(kind, i, content_) && check(content_);
    };
    for (std::size_t i = 0; i < count; ++i)
      if (!whole(place_kind::rows, i, are_whole_row_places)
          || !whole(place_kind::work, i, are_whole_work_places))
        return false;
    return true;
  }
  static void add(jpeg_places x, surveyed_places& to) {
    to.of(place_kind::rows).push_back(std::move(x.rows));
    to.of(place_kind::work).push_back(std::move(x.work));
  }
  template <class Read>
  jpeg_places survey(const Read& read, std::uint64_t offset, std::uint64_t size) {
    // Only JPEGs are read beyond their first bytes: a shard may hold videos.
    const auto head = static_cast<std::size_t>(std::min(size, head_bytes));
    content_.resize(head);
    read(offset, content_);
    const bool is_jpeg = image_format(content_) == "JPEG";
    jpeg_places places;
    if (is_jpeg && size <= max_bytes) {
      content_.resize(size);
      read(offset + head, std::span{content_}.subspan(head));
      places = places_of(decoder_, content_);
    }
    facts.bytes_read += content_.size();
    count(is_jpeg, size, places.rows.size(), places.work.size());
    return places;
  }
  void count(bool is_jpeg, std::uint64_t image_bytes, std::uint64_t row_bytes,
             std::uint64_t work_bytes) {
    facts.images += is_jpeg ? 1 : 0;
    facts.indexed += row_bytes > 0 ? 1 : 0;
    facts.image_bytes += is_jpeg ? image_bytes : 0;
    facts.index_bytes += row_bytes;
    facts.work_bytes += work_bytes;
  }
  /// For an index that is about to be made again.
  void count_completed(const indexed_places& before) {
    facts.completed += before.has(place_kind::rows) && !before.has(place_kind::work) ? 1 : 0;
  }
  /// An index that exists already does not say which of the others are JPEGs: their first bytes do.
  void count_known(stored_objects& from, std::size_t object, std::uint64_t offset,
                   std::uint64_t size, const indexed_places& kept, std::size_t number) {
    const auto row_bytes = kept.place_bytes(place_kind::rows, number);
    bool is_jpeg = row_bytes > 0;
    if (!is_jpeg) {
      content_.resize(static_cast<std::size_t>(std::min(size, magic_bytes)));
      read_now(from, object, offset, content_);
      is_jpeg = image_format(content_) == "JPEG";
    }
    count(is_jpeg, size, row_bytes, kept.place_bytes(place_kind::work, number));
  }
  void count_known(bool is_jpeg, std::uint64_t size, const indexed_places& kept,
                   std::size_t number) {
    const auto row_bytes = kept.place_bytes(place_kind::rows, number);
    count(is_jpeg || row_bytes > 0, size, row_bytes, kept.place_bytes(place_kind::work, number));
  }
  void store(const std::vector<std::string>& paths, std::span<const std::byte> index) {
    facts.not_stored += store_index(paths, index) ? 0 : 1;
  }

  plane_decoder decoder_;
  std::vector<std::byte> content_;
};

std::uint64_t bytes_of(const std::vector<std::string>& shards, const store_set& in) {
  return std::transform_reduce(shards.begin(), shards.end(), std::uint64_t{0}, std::plus<>{},
                               [&](const std::string& x) { return in.of(x).stat(x).version.size; });
}

/// Calls `survey` for each of `pieces`, on all cores. Throws the error of the first piece that has
/// one, after all of them.
template <class Survey>
row_index_facts survey_all(std::size_t pieces, std::uint64_t bytes,
                           const row_index_progress& progress, Survey survey) {
  row_index_facts facts;
  std::atomic<std::size_t> next = 0;
  mutex adding;
  std::uint64_t done = 0;
  std::vector<std::exception_ptr> failed(pieces);
  const on_bytes tell = [&](std::uint64_t more) {
    check_patience();
    mutex_lock lock{adding};
    done += more;
    if (progress)
      progress(done, bytes);
  };
  auto work = [&] {
    surveyor own;
    for (auto i = next++; i < pieces; i = next++)
      try {
        check_patience();
        survey(own, i, tell);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    mutex_lock lock{adding};
    facts += own.facts;
  };
  run_in_threads(std::min<std::size_t>(std::thread::hardware_concurrency(), pieces), work);
  for (const auto& x : failed)
    if (x)
      std::rethrow_exception(x);
  return facts;
}

} // namespace

row_index_facts build_row_index(const std::vector<std::string>& shards, const tar_options& options,
                                const row_index_progress& progress, const store_set& in) {
  const auto& store = in.of(shards.empty() ? std::string_view{} : shards.front());
  const far_indexes others{store, options.index_dir, in, shards};
  if (store.is_near())
    return survey_all(shards.size(), bytes_of(shards, in), progress,
                      [&](surveyor& by, std::size_t i, const on_bytes& tell) {
                        by.survey(shards[i], in.of(shards[i]), options, others, tell);
                      });
  const auto objects = store.open(shards);
  objects->expect_stats();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i)
    bytes += objects->stat(i).size;
  return survey_all(shards.size(), bytes, progress,
                    [&](surveyor& by, std::size_t i, const on_bytes& tell) {
                      by.survey_far(*objects, i, store, options, others, tell);
                    });
}

row_index_facts build_row_index(const std::shared_ptr<const folder_files>& files,
                                const folder_options& options, const row_index_progress& progress) {
  std::uint64_t bytes = 0;
  for (const auto& image : files->images)
    bytes += image.bytes;
  const auto objects = files->store->open(files, "row index");
  return survey_all(files->classes.size(), bytes, progress,
                    [&](surveyor& by, std::size_t i, const on_bytes& tell) {
                      by.survey(*files, *objects, files->classes[i], options, tell);
                    });
}

namespace {

std::optional<row_index_facts> build_for(const operator_node& x,
                                         const row_index_progress& progress) {
  const auto& in = x.names_in();
  if (x.op == "tar_shards")
    return build_row_index(
        find_files(x.get<std::vector<std::string>>("patterns"), "index", file_kinds::plain, in)
            .paths,
        {.index_dir = x.get<std::string>("index_dir"), .allow_torn = x.get<bool>("allow_torn")},
        progress, in);
  if (x.op == "image_folder") {
    const auto& directory = x.get<std::string>("directory");
    return build_row_index(list_folder(directory, in.of(directory)),
                           {.index_dir = x.get<std::string>("index_dir")}, progress);
  }
  return std::nullopt;
}

} // namespace

std::optional<row_index_facts> build_row_index(const pipeline& data,
                                               const row_index_progress& progress) {
  std::optional<row_index_facts> all;
  check_tree_size(data.root());
  for_each_operator(data.root(), [&](const operator_node& x) {
    if (const auto facts = x.is_source() ? build_for(x, progress) : std::nullopt)
      all = all ? * all += *facts : *facts;
  });
  return all;
}

} // namespace leat
