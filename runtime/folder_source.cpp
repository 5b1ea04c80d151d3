#include "runtime/open_files.hpp"
#include "runtime/stage.hpp"
#include "runtime/utf8.hpp"
#include "runtime/xxh3.hpp"

#include <leat/error.hpp>
#include <leat/sources.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

bool is_jpeg(const std::string& path) {
  auto ends_with = [&](std::string_view ending) {
    return path.size() >= ending.size()
           && std::equal(ending.rbegin(), ending.rend(), path.rbegin(),
                         [](char want, char c) { return want == c || want == c - 'A' + 'a'; });
  };
  return ends_with(".jpg") || ends_with(".jpeg");
}

struct image_file {
  /// Relative to the folder, with '/'.
  std::string path;
  std::uint64_t bytes;
  std::size_t label;
};

std::vector<std::string> class_names(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& x : fs::directory_iterator{directory})
    if (auto name = x.path().filename().string(); x.is_directory() && !name.starts_with('.'))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<image_file> find_images(const std::string& directory,
                                    const std::vector<std::string>& classes) {
  std::vector<image_file> images;
  for (std::size_t label = 0; label < classes.size(); ++label)
    for (const auto& x : fs::recursive_directory_iterator{directory + "/" + classes[label]})
      if (auto path = x.path().string().substr(directory.size() + 1);
          is_jpeg(path) && x.is_regular_file())
        images.push_back({std::move(path), x.file_size(), label});
  std::sort(images.begin(), images.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return images;
}

class folder_source : public source {
public:
  explicit folder_source(const std::string& directory) try
      : directory_(directory), classes_(class_names(directory)),
        images_(find_images(directory, classes_)) {
    if (classes_.empty() || images_.empty())
      throw error(errc::not_found,
                  {.stage = "image_folder",
                   .file = directory,
                   .got = std::to_string(classes_.size()) + " class folders, no image in them",
                   .needed = "CLASS/*.jpg"});
    for (std::size_t i = 0; i < classes_.size(); ++i)
      labels_.push_back(std::to_string(i));
  } catch (const fs::filesystem_error& x) {
    const bool absent =
        x.code() == std::errc::no_such_file_or_directory || x.code() == std::errc::not_a_directory;
    throw error(absent ? errc::not_found : errc::io, {.stage = "image_folder",
                                                      .file = x.path1().string(),
                                                      .got = x.code().message(),
                                                      .needed = "a readable directory"});
  }

  std::uint64_t size() const override { return images_.size(); }

  void read(std::uint64_t record, sample& into) const override {
    const auto& image = images_[record];
    const auto path = directory_ + "/" + image.path;
    const auto file = file_descriptor::open(path);
    if (auto now = stamp_of(file, path).size; now != image.bytes)
      throw error(errc::torn_file, {.stage = "image_folder",
                                    .file = path,
                                    .got = std::to_string(now) + " bytes",
                                    .needed = std::to_string(image.bytes) + ", as on opening"});
    auto bytes = into.scratch(image.bytes);
    read_fully(file, path, 0, bytes);
    into.borrow("jpg", bytes);
    into.borrow("cls", as_bytes(labels_[image.label]));
    into.borrow("class", as_bytes(classes_[image.label]));
    into.count_read(bytes.size());
  }

  void append_id(std::uint64_t record, std::string& to) const override {
    append_utf8(images_[record].path, to);
  }

  source_facts facts() const override {
    source_facts x{.files = 1, .records = size(), .bytes = 0, .digest = {}};
    hash_stream hash;
    for (const auto& image : images_) {
      hash.add(image.path);
      hash.add(image.bytes);
      x.bytes += image.bytes;
    }
    x.digest = hash.digest128();
    return x;
  }

  std::string name() const override { return "folder"; }

private:
  static std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
  }

  std::string directory_;
  std::vector<std::string> classes_;
  std::vector<image_file> images_;
  /// Numbers of the classes as ASCII.
  std::vector<std::string> labels_;
};

} // namespace

pipeline image_folder(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/'))
    directory.pop_back();
  return source_pipeline("image_folder", {{"directory", directory}},
                         [directory] { return std::make_shared<const folder_source>(directory); });
}

} // namespace leat
