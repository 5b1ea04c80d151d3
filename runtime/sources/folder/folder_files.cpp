#include "runtime/sources/folder/folder_files.hpp"

#include "runtime/base/xxh3.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/open_files.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>
#include <leat/sources.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// What decode_image takes.
bool is_image(const std::string& path) {
  auto ends_with = [&](std::string_view ending) {
    return path.size() >= ending.size()
           && std::equal(ending.rbegin(), ending.rend(), path.rbegin(),
                         [](char want, char c) { return want == c || want == c - 'A' + 'a'; });
  };
  return ends_with(".jpg") || ends_with(".jpeg") || ends_with(".png");
}

/// Links that lead nowhere, or in a circle.
struct lost_links {
  std::uint64_t count = 0;
  std::string first = {};

  /// What the entry is, through links.
  fs::file_type type_of(const fs::directory_entry& x) {
    std::error_code problem;
    const auto type = x.status(problem).type();
    const bool is_lost = x.is_symlink()
                         && (type == fs::file_type::not_found
                             || problem == std::errc::too_many_symbolic_link_levels);
    if (is_lost && (count++ == 0 || x.path().native() < first))
      first = x.path().string();
    if (problem && !is_lost && type != fs::file_type::not_found)
      throw fs::filesystem_error{"status", x.path(), problem};
    return type;
  }

  void tell(const std::string& directory) const {
    if (count > 0)
      notice("image_folder: " + directory + ": left out " + std::to_string(count)
             + (count == 1 ? " link that leads" : " links that lead") + " nowhere: " + first
             + (count == 1 ? "" : ", ..."));
  }
};

std::vector<class_folder> find_classes(const std::string& directory, lost_links& links) {
  std::vector<class_folder> classes;
  for (const auto& x : fs::directory_iterator{directory})
    if (auto name = x.path().filename().string();
        !name.starts_with('.') && links.type_of(x) == fs::file_type::directory)
      classes.push_back({.name = std::move(name)});
  std::sort(classes.begin(), classes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return classes;
}

/// Adds those of one class.
void find_images(const std::string& directory, const std::string& name, std::size_t label,
                 std::vector<image_file>& images, lost_links& links) {
  for (const auto& x : fs::recursive_directory_iterator{directory + "/" + name})
    if (auto path = x.path().string().substr(directory.size() + 1);
        is_image(path) && links.type_of(x) == fs::file_type::regular) {
      const auto stamp = stamp_of(x.path().string());
      images.push_back({std::move(path), stamp.size, label, stamp.mtime_ns});
    }
}

[[noreturn]] void refuse_folder(const std::string& directory, const fs::filesystem_error& x) {
  if (auto kind = kind_of_path(directory); kind && !fs::is_directory(directory))
    throw error(errc::invalid_argument, {.stage = "image_folder",
                                         .file = directory,
                                         .got = kind.what + ", which is no folder",
                                         .needed = std::move(kind.instead)});
  const bool absent =
      x.code() == std::errc::no_such_file_or_directory || x.code() == std::errc::not_a_directory;
  throw error(absent ? errc::not_found : errc::io, {.stage = "image_folder",
                                                    .file = x.path1().string(),
                                                    .got = x.code().message(),
                                                    .needed = "a readable directory"});
}

folder_files find_in_folder(const std::string& directory) {
  lost_links links;
  folder_files x{directory, find_classes(directory, links), {}};
  for (std::size_t i = 0; i < x.classes.size(); ++i)
    find_images(directory, x.classes[i].name, i, x.images, links);
  links.tell(directory);
  std::sort(x.images.begin(), x.images.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  for (std::size_t i = 0; i < x.images.size(); ++i)
    if (auto& folder = x.classes[x.images[i].label]; folder.images++ == 0)
      folder.first = i;
  return x;
}

} // namespace

std::string folder_name(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/'))
    directory.pop_back();
  return directory;
}

folder_files list_folder(const std::string& directory) try {
  auto x = find_in_folder(folder_name(directory));
  if (x.images.empty())
    throw error(errc::not_found,
                {.stage = "image_folder",
                 .file = directory,
                 .got = std::to_string(x.classes.size()) + " class folders, no image in them",
                 .needed = "CLASS/*.jpg, *.jpeg or *.png"});
  return x;
} catch (const fs::filesystem_error& x) {
  refuse_folder(directory, x);
}

std::vector<std::string> class_names(const std::string& directory) try {
  std::vector<std::string> names;
  lost_links links;
  for (auto& x : find_classes(folder_name(directory), links))
    names.push_back(std::move(x.name));
  return names;
} catch (const fs::filesystem_error& x) {
  refuse_folder(directory, x);
}

hash128 digest_of(std::span<const image_file> images) {
  hash_stream hash;
  for (const auto& image : images) {
    hash.add(image.path);
    hash.add(image.bytes);
  }
  return hash.digest128();
}

} // namespace leat
