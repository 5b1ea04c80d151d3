#include "tests/support/catch.hpp"

#include <leat/error.hpp>

#include "tools/made_data/synthetic_photos.hpp"
#include <jpeglib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace leat::synthetic_photos_test {
namespace {

namespace fs = std::filesystem;

/// A fresh directory that is removed when the test ends.
struct scratch_directory {
  fs::path path = fs::temp_directory_path() / ("leat-synthetic-" + std::to_string(getpid()));
  scratch_directory() { fs::remove_all(path); }
  ~scratch_directory() { fs::remove_all(path); }
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// File name -> bytes, for all files of a directory.
std::map<std::string, std::string> files_of(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory))
    files[entry.path().filename().string()] = contents(entry.path());
  return files;
}

std::map<std::string, std::string> generate(const leat::synthetic_options& options) {
  const scratch_directory scratch;
  leat::make_synthetic_data(scratch.path, options);
  return files_of(scratch.path);
}

struct member {
  std::string name;
  std::string content;
};

std::vector<member> members(const std::string& tar) {
  std::vector<member> result;
  for (std::size_t at = 0; at + 512 <= tar.size() && tar[at] != '\0';) {
    const auto size = std::stoul(tar.substr(at + 124, 11), nullptr, 8);
    result.push_back({tar.c_str() + at, tar.substr(at + 512, size)});
    at += 512 + (size + 511) / 512 * 512;
  }
  return result;
}

struct decoded {
  unsigned width = 0;
  unsigned height = 0;
  int components = 0;
  int luma_sampling = 0;
  long warnings = 0;
  double mean = 0;
};

/// libjpeg's default error handling ends the process, which fails the test.
decoded decode(const std::string& jpeg) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct codec{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_read_header(&codec, TRUE);
  decoded result{.components = codec.num_components,
                 .luma_sampling = codec.comp_info[0].h_samp_factor};
  jpeg_start_decompress(&codec);
  result.width = codec.output_width;
  result.height = codec.output_height;
  std::vector<JSAMPLE> row(std::size_t{codec.output_width}
                           * static_cast<unsigned>(codec.output_components));
  double sum = 0;
  while (codec.output_scanline < codec.output_height) {
    JSAMPLE* line = row.data();
    jpeg_read_scanlines(&codec, &line, 1);
    for (const JSAMPLE value : row)
      sum += value;
  }
  result.mean = sum / (static_cast<double>(row.size()) * result.height);
  jpeg_finish_decompress(&codec);
  result.warnings = errors.num_warnings;
  jpeg_destroy_decompress(&codec);
  return result;
}

TEST_CASE("the same options give the same bytes for any number of threads") {
  const leat::synthetic_options options{.samples = 15, .shards = 5, .seed = 3, .threads = 1};
  const auto once = generate(options);
  auto four_threads = options;
  four_threads.threads = 4;
  CHECK(once.size() == 5);
  CHECK((generate(four_threads) == once));
  CHECK((generate(options) == once));
}

TEST_CASE("another seed gives other photographs, another cut into shards the same ones") {
  const auto base = members(generate({.samples = 4, .shards = 1, .seed = 3}).begin()->second);
  const auto other = members(generate({.samples = 4, .shards = 1, .seed = 4}).begin()->second);
  std::vector<member> cut;
  for (const auto& [name, tar] : generate({.samples = 4, .shards = 3, .seed = 3}))
    for (auto& x : members(tar))
      cut.push_back(x);
  REQUIRE(base.size() == 12);
  REQUIRE(other.size() == 12);
  REQUIRE(cut.size() == 12);
  for (std::size_t i = 0; i < base.size(); ++i) {
    CHECK(base[i].name == cut[i].name);
    CHECK((base[i].content == cut[i].content));
    if (base[i].name.ends_with(".jpg"))
      CHECK((base[i].content != other[i].content));
  }
}

TEST_CASE("samples are numbered through all shards and carry jpg, cls and txt") {
  const auto files = generate({.samples = 25, .shards = 4});
  CHECK(files.begin()->first == "train-000000.tar");
  CHECK(files.rbegin()->first == "train-000003.tar");
  std::size_t number = 0;
  for (const auto& [name, tar] : files) {
    const auto all = members(tar);
    REQUIRE(all.size() % 3 == 0);
    for (std::size_t i = 0; i < all.size(); i += 3, ++number) {
      const std::string digits = std::to_string(number);
      const std::string key = std::string(8 - digits.size(), '0') + digits;
      CHECK(all[i].name == key + ".jpg");
      CHECK(all[i + 1].name == key + ".cls");
      CHECK(all[i + 2].name == key + ".txt");
      CHECK(all[i + 2].content == leat::synthetic_classes.at(std::stoul(all[i + 1].content)));
    }
  }
  CHECK(number == 25);
}

TEST_CASE("classes are equally frequent and stand in no pattern") {
  const auto files = generate({.samples = 53, .shards = 1});
  std::map<std::string, int> counts;
  std::string order;
  for (const auto& x : members(files.begin()->second))
    if (x.name.ends_with(".cls")) {
      ++counts[x.content];
      order += x.content;
    }
  CHECK(counts.size() == 10);
  for (const auto& [label, count] : counts)
    CHECK(count == (label < "3" ? 6 : 5));
  std::set<std::string> tens;
  for (std::size_t i = 0; i + 10 <= order.size(); i += 10)
    tens.insert(order.substr(i, 10));
  CHECK(tens.size() == 5);
}

TEST_CASE("photographs decode without a warning and vary as a camera's do") {
  const auto files = generate({.samples = 60, .shards = 2});
  std::set<std::pair<unsigned, unsigned>> sizes;
  std::set<int> components;
  std::set<int> samplings;
  std::size_t bytes = 0;
  for (const auto& [name, tar] : files)
    for (const auto& x : members(tar))
      if (x.name.ends_with(".jpg")) {
        CAPTURE(x.name);
        const auto photo = decode(x.content);
        CHECK(photo.warnings == 0);
        CHECK(photo.width * photo.height > 80'000);
        CHECK(photo.width * photo.height < 330'000);
        CHECK(photo.mean > 40);
        CHECK(photo.mean < 230);
        sizes.insert({photo.width, photo.height});
        components.insert(photo.components);
        if (photo.components == 3)
          samplings.insert(photo.luma_sampling);
        bytes += x.content.size();
      }
  CHECK(sizes.size() > 40);
  CHECK(components == std::set<int>{1, 3});
  CHECK(samplings == std::set<int>{1, 2});
  CHECK(bytes / 60 > 30'000);
  CHECK(bytes / 60 < 110'000);
}

TEST_CASE("a second run replaces the shards") {
  const scratch_directory scratch;
  leat::make_synthetic_data(scratch.path, {.samples = 4, .shards = 2, .seed = 1});
  const auto first = files_of(scratch.path);
  leat::make_synthetic_data(scratch.path, {.samples = 4, .shards = 2, .seed = 2});
  const auto second = files_of(scratch.path);
  CHECK(second.size() == 2);
  CHECK((second != first));
}

TEST_CASE("a directory with shards of a larger set is refused and left as it is") {
  const scratch_directory scratch;
  leat::make_synthetic_data(scratch.path, {.samples = 4, .shards = 3});
  const auto before = files_of(scratch.path);
  try {
    leat::make_synthetic_data(scratch.path, {.samples = 4, .shards = 2});
    FAIL("written");
  } catch (const leat::error& e) {
    CHECK(e.code() == leat::errc::invalid_argument);
    CHECK(e.details().file == (scratch.path / "train-000002.tar").string());
  }
  CHECK((files_of(scratch.path) == before));
}

TEST_CASE("options out of range and directories that cannot be made are errors") {
  const scratch_directory scratch;
  CHECK_THROWS_AS(leat::make_synthetic_data(scratch.path, {.samples = 0}), leat::error);
  CHECK_THROWS_AS(leat::make_synthetic_data(scratch.path, {.samples = 5, .shards = 0}),
                  leat::error);
  CHECK_THROWS_AS(leat::make_synthetic_data(scratch.path, {.samples = 5, .shards = 6}),
                  leat::error);
  CHECK_FALSE(fs::exists(scratch.path));
  try {
    leat::make_synthetic_data("/dev/null/x", {.samples = 1, .shards = 1});
    FAIL("written");
  } catch (const leat::error& e) {
    CHECK(e.code() == leat::errc::io);
  }
}

TEST_CASE("an error in one shard ends the run with that error") {
  const scratch_directory scratch;
  fs::create_directories(scratch.path / "train-000003.tar" / "in the way");
  try {
    leat::make_synthetic_data(scratch.path, {.samples = 8, .shards = 4, .threads = 2});
    FAIL("written");
  } catch (const leat::error& e) {
    CHECK(e.code() == leat::errc::io);
    CHECK(e.details().file == (scratch.path / "train-000003.tar").string());
  }
}

} // namespace

} // namespace leat::synthetic_photos_test
