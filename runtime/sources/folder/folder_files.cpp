#include "runtime/sources/folder/folder_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/hidden_entry.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/sources.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// True for the names of files that decode_image takes.
bool is_image(const std::string& path) {
  auto ends_with = [&](std::string_view ending) {
    return path.size() >= ending.size()
           && std::equal(ending.rbegin(), ending.rend(), path.rbegin(),
                         [](char want, char c) { return want == c || want == c - 'A' + 'a'; });
  };
  return ends_with(".jpg") || ends_with(".jpeg") || ends_with(".jfif") || ends_with(".png")
         || ends_with(".webp");
}

/// A folder that is being listed.
class listing {
public:
  listing(std::string directory, const object_store& store)
      : directory_(std::move(directory)), store_(store) {}

  std::vector<class_folder> classes() {
    std::vector<class_folder> found;
    store_.list(directory_, [&](listed_object x) {
      if (is_hidden_entry(x.name))
        add_hidden_class(x);
      else if (const auto is = stat(x.name, x).is; is == object_kind::folder)
        found.push_back({.name = std::move(x.name)});
      else if (is == object_kind::plain && !x.name.ends_with(".leat-index")
               && !x.name.ends_with(".leat-manifest"))
        pass_over(passed_over_reason::outside, x.name);
    });
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
  }

  /// Adds the images of a folder and of its subfolders.
  void add_images(const std::string& folder, std::size_t label, std::vector<image_file>& to) {
    std::vector<std::string> folders;
    store_.list(directory_ + "/" + folder, [&](const listed_object& x) {
      auto path = folder + "/" + x.name;
      if (is_hidden_entry(x.name))
        pass_over(passed_over_reason::hidden, path);
      else if (x.is == object_kind::folder)
        folders.push_back(std::move(path));
      else if (is_image(path))
        add_image(std::move(path), label, x, to);
      else if (x.is == object_kind::link)
        pass_over_link(path, x);
      else
        pass_over(passed_over_reason::other_ending, path);
    });
    for (const auto& x : folders)
      add_images(x, label, to);
  }

  void pass_over(passed_over_reason why, const std::string& path) {
    others_.add_by_name(why, directory_ + "/" + path);
  }
  const passed_over& others() const noexcept { return others_; }
  std::uint64_t hidden_classes() const noexcept { return hidden_classes_; }

private:
  void add_hidden_class(const listed_object& x) {
    pass_over(passed_over_reason::hidden, x.name);
    if (!x.name.starts_with('.') && stat(x.name, x).is == object_kind::folder)
      ++hidden_classes_;
  }

  void add_image(std::string path, std::size_t label, const listed_object& entry,
                 std::vector<image_file>& to) {
    check_patience();
    const auto x = entry.version ? object_stat{entry.is, *entry.version} : version_of(path, entry);
    if (x.is == object_kind::folder)
      pass_over(passed_over_reason::folder_link, path);
    else if (x.is == object_kind::plain)
      to.push_back({std::move(path), x.version.size, label, x.version.mtime_ns});
  }

  /// A link that is no image by its name: where it leads decides only what the notice says about
  /// it.
  void pass_over_link(const std::string& path, const listed_object& entry) {
    auto is = object_kind::plain;
    try {
      is = stat(path, entry).is;
    } catch (const error& x) {
      if (x.code() != errc::io)
        throw;
    }
    if (is != object_kind::other)
      pass_over(is == object_kind::folder ? passed_over_reason::folder_link
                                          : passed_over_reason::other_ending,
                path);
  }

  /// What an entry is; asks the store only if the listing does not say.
  object_stat stat(const std::string& path, const listed_object& entry) {
    return entry.is == object_kind::link ? version_of(path, entry) : object_stat{entry.is};
  }

  /// An entry that no longer exists counts as nothing; a link to nothing is passed over.
  object_stat version_of(const std::string& path, const listed_object& entry) try {
    auto x = store_.stat(directory_ + "/" + path);
    if (x.is == object_kind::other)
      pass_over(passed_over_reason::special, path);
    return x;
  } catch (const error& x) {
    if (x.code() != errc::not_found)
      throw;
    if (entry.is == object_kind::link)
      pass_over(passed_over_reason::lost_link, path);
    return {.is = object_kind::other};
  }

  const std::string directory_;
  const object_store& store_;
  passed_over others_;
  std::uint64_t hidden_classes_ = 0;
};

[[noreturn]] void refuse_folder(const std::string& directory, const error& x) {
  if (auto kind = kind_of_path(directory); kind && !fs::is_directory(directory))
    throw_file_error(errc::invalid_argument, "image_folder", without_secrets(directory),
                     kind.what + ", which is not a folder", std::move(kind.instead));
  auto details = x.details();
  details.stage = "image_folder";
  throw error(x.code(), std::move(details));
}

std::shared_ptr<const folder_files> find_in_folder(const std::string& directory,
                                                   const object_store& store) {
  auto x = std::make_shared<folder_files>();
  x->directory = directory;
  x->store = &store;
  listing entries{directory, store};
  x->classes = entries.classes();
  for (std::size_t i = 0; i < x->classes.size(); ++i)
    entries.add_images(x->classes[i].name, i, x->images);
  std::sort(x->images.begin(), x->images.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  for (std::size_t i = 0; i < x->images.size(); ++i)
    if (auto& folder = x->classes[x->images[i].label]; folder.images++ == 0)
      folder.first = i;
  for (const auto& folder : x->classes)
    if (folder.images == 0)
      entries.pass_over(passed_over_reason::empty_class, folder.name);
  x->others = entries.others();
  x->hidden_classes = entries.hidden_classes();
  return x;
}

} // namespace

std::string folder_name(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/'))
    directory.pop_back();
  return directory;
}

std::shared_ptr<const folder_files> list_folder(const std::string& directory) {
  return list_folder(directory, store_of(directory));
}

std::shared_ptr<const folder_files> list_folder(const std::string& directory,
                                                const object_store& store) {
  std::shared_ptr<const folder_files> x;
  try {
    x = find_in_folder(folder_name(directory), store);
  } catch (const error& problem) {
    refuse_folder(directory, problem);
  }
  if (const auto others = x->others.notice_text(); x->images.empty())
    throw_file_error(errc::not_found, "image_folder", directory,
                     std::to_string(x->classes.size()) + " class folders without an image"
                         + (others.empty() ? "" : ", " + others),
                     "images in them: CLASS/*.jpg, *.jpeg, *.jfif, *.png or *.webp");
  return x;
}

std::vector<std::string> class_names(const std::string& directory, const store_set& in) try {
  std::vector<std::string> names;
  for (auto& x : listing{folder_name(directory), in.of(directory)}.classes())
    names.push_back(std::move(x.name));
  return names;
} catch (const error& x) {
  refuse_folder(directory, x);
}

std::vector<std::string> class_names(const std::string& directory, const remote_options& remote) {
  const auto chosen = chosen_stores(remote);
  return class_names(directory, chosen ? *chosen : *process_stores());
}

hash128 digest_of(const folder_files& x) {
  hash_stream hash;
  for (const auto& image : x.images) {
    hash.add(image.path);
    hash.add(image.bytes);
  }
  if (x.hidden_classes > 0)
    hash.add(x.hidden_classes);
  std::size_t label = 0; // if there were no empty classes
  for (std::size_t i = 0; i < x.classes.size(); ++i)
    if (x.classes[i].images > 0 && i != label++)
      hash.add(std::uint64_t{i});
  return hash.digest128();
}

} // namespace leat
