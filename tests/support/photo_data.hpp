#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/sources/row_index.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/source.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace leat::test {

using file_bytes = std::vector<std::byte>;

inline std::string text_of(const file_bytes& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

/// A JPEG whose scan ends too early.
inline file_bytes torn_jpeg(std::uint32_t seed) {
  auto torn = write_jpeg(120, 90, {}, seed);
  torn[torn.size() / 2] = std::byte{0xFF};
  torn[torn.size() / 2 + 1] = std::byte{0xD9};
  return torn;
}

/// Three shards of JPEGs and other things; the second image of each has restart markers, the third
/// is damaged.
struct photo_shards {
  temporary_directory dir;
  tar_options options{.index_dir = dir / "index"};
  std::vector<std::string> shards;

  photo_shards() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      shards.push_back(dir / ("s" + std::to_string(i) + ".tar"));
      tar_writer tar;
      tar.file("a.jpg", text_of(write_jpeg(300 + i, 200, {.horizontal = 2, .vertical = 2}, i)))
          .file("a.cls", "1")
          .file("b.jpg", text_of(write_jpeg(64, 64, {.restart = 3}, i)))
          .file("b.cls", "2")
          .file("c.jpg", text_of(torn_jpeg(7 + i)))
          .file("d.jpeg", text_of(write_jpeg(500, 40, {}, i)))
          .file("e.png", "no picture");
      tar.end().save(shards.back());
    }
  }

  pipeline stage() const { return tar_shards(shards, options); }
  std::shared_ptr<const source> data() const { return stage().root().data->get(); }
  row_index_facts build() const { return build_row_index(shards, options, {}); }
  /// The file of each shard's index.
  std::vector<std::string> indexes() const {
    std::vector<std::string> all;
    for (const auto& shard : shards)
      all.push_back(index_paths(shard, options.index_dir).front());
    return all;
  }
};

/// Two classes and an empty one; the second image of each is damaged.
struct photo_folder {
  temporary_directory dir;
  std::string path = dir / "photos";
  folder_options options{.index_dir = dir / "index"};

  photo_folder() {
    std::filesystem::create_directories(path + "/none");
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto folder = path + (i == 0 ? "/a" : "/a-b");
      std::filesystem::create_directories(folder + "/deep");
      save(folder + "/1.jpg", write_jpeg(300 + i, 200, {.horizontal = 2, .vertical = 2}, i));
      save(folder + "/2.jpg", torn_jpeg(7 + i));
      save(folder + "/deep/3.jpg", write_jpeg(500, 40, {}, i));
    }
  }

  static void save(const std::string& to, const file_bytes& file) {
    tar_writer::write(to, text_of(file));
  }
  std::shared_ptr<const source> data() const {
    return image_folder(path, options).root().data->get();
  }
  row_index_facts build() const { return build_row_index(list_folder(path + "/"), options, {}); }
  /// The file of each class's index.
  std::vector<std::string> indexes() const {
    return {index_paths(path + "/a", options.index_dir).front(),
            index_paths(path + "/a-b", options.index_dir).front()};
  }
};

} // namespace leat::test
