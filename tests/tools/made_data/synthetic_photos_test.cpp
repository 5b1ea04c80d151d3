#include "tests/support/jpeg_writer.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tar_members.hpp"
#include "tests/support/temporary_directory.hpp"

#include "tools/made_data/synthetic_photos.hpp"

namespace leat::synthetic_photos_test {
namespace {

namespace fs = std::filesystem;
using files = std::map<std::string, std::string>;

/// File name -> bytes, for all files of a directory.
files files_of(const fs::path& directory) {
  files result;
  for (const auto& entry : fs::directory_iterator(directory))
    result[entry.path().filename().string()] = read_file(entry.path().string());
  return result;
}

files generate(const synthetic_options& options) {
  const test::temporary_directory scratch;
  make_synthetic_data(scratch.path(), options);
  return files_of(scratch.path());
}

/// Of all shards, one after the other.
std::vector<test::tar_member> members(const files& shards) {
  std::vector<test::tar_member> result;
  for (const auto& [name, tar] : shards)
    for (auto& x : test::members_of(tar))
      result.push_back(std::move(x));
  return result;
}

TEST_CASE("the same options give the same bytes for any number of threads") {
  const synthetic_options options{.samples = 15, .shards = 5, .seed = 3, .threads = 1};
  const auto once = generate(options);
  auto four_threads = options;
  four_threads.threads = 4;
  CHECK(once.size() == 5);
  CHECK((generate(four_threads) == once));
  CHECK((generate(options) == once));
}

TEST_CASE("another seed gives other photographs, another cut into shards the same ones") {
  const auto base = members(generate({.samples = 4, .shards = 1, .seed = 3}));
  const auto other = members(generate({.samples = 4, .shards = 1, .seed = 4}));
  REQUIRE(base.size() == 12);
  REQUIRE(other.size() == 12);
  CHECK((members(generate({.samples = 4, .shards = 3, .seed = 3})) == base));
  for (std::size_t i = 0; i < base.size(); i += 3)
    CHECK((base[i].content != other[i].content));
}

TEST_CASE("samples are numbered through all shards and carry jpg, cls and txt") {
  const auto shards = generate({.samples = 25, .shards = 4});
  CHECK(shards.begin()->first == "train-000000.tar");
  CHECK(shards.rbegin()->first == "train-000003.tar");
  for (const auto& [name, tar] : shards)
    REQUIRE(members({{name, tar}}).size() % 3 == 0);
  const auto all = members(shards);
  REQUIRE(all.size() == 3 * 25);
  for (std::size_t i = 0; i < 25; ++i) {
    const auto key = (i < 10 ? "0000000" : "000000") + std::to_string(i);
    CHECK(all[3 * i].name == key + ".jpg");
    CHECK(all[3 * i + 1].name == key + ".cls");
    CHECK(all[3 * i + 2].name == key + ".txt");
    CHECK(all[3 * i + 2].content == synthetic_classes.at(std::stoul(all[3 * i + 1].content)));
  }
}

TEST_CASE("classes are equally frequent and stand in no pattern") {
  std::map<std::string, int> counts;
  std::string order;
  for (const auto& x : members(generate({.samples = 53, .shards = 1})))
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

TEST_CASE("photographs vary as a camera's do") {
  std::set<std::pair<unsigned, unsigned>> sizes;
  std::set<std::pair<unsigned, unsigned>> kinds;
  double bytes = 0;
  double all_pixels = 0;
  for (const auto& x : members(generate({.samples = 60, .shards = 2})))
    if (x.name.ends_with(".jpg")) {
      CAPTURE(x.name);
      const std::span file{reinterpret_cast<const std::byte*>(x.content.data()), x.content.size()};
      const auto frame = test::find_marker(file, 0xC0);
      const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(file[frame + i]); };
      sizes.insert({byte(7) * 256 + byte(8), byte(5) * 256 + byte(6)});
      kinds.insert({byte(9), byte(11) >> 4});    // components, and the first one's sampling
      const auto pixels = test::read_jpeg(file); // R, G, B
      CHECK(pixels.size() > 3 * 80'000);
      CHECK(pixels.size() < 3 * 330'000);
      const auto mean =
          std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
      CHECK(mean > 40);
      CHECK(mean < 230);
      bytes += static_cast<double>(file.size());
      all_pixels += static_cast<double>(pixels.size()) / 3;
    }
  CHECK(sizes.size() > 40);
  CHECK(kinds == std::set<std::pair<unsigned, unsigned>>{{1, 1}, {3, 1}, {3, 2}});
  CHECK(bytes / all_pixels > 0.2); // as real photographs have, which the benchmarks rest on
  CHECK(bytes / all_pixels < 0.4);
}

TEST_CASE("a second run replaces the shards, unless some would stay") {
  const test::temporary_directory scratch;
  make_synthetic_data(scratch.path(), {.samples = 4, .shards = 2, .seed = 1});
  const auto first = files_of(scratch.path());
  make_synthetic_data(scratch.path(), {.samples = 4, .shards = 2, .seed = 2});
  const auto second = files_of(scratch.path());
  CHECK(second.size() == 2);
  CHECK((second != first));
  const auto problem =
      check_refusal([&] { make_synthetic_data(scratch.path(), {.samples = 4, .shards = 1}); },
                    errc::invalid_argument);
  CHECK(problem.details().file == scratch / "train-000001.tar");
  CHECK((files_of(scratch.path()) == second));
}

TEST_CASE("options out of range and directories that cannot be made are errors") {
  const test::temporary_directory scratch;
  const auto code = [](const std::string& at, std::uint64_t samples, std::uint64_t shards) {
    return code_of([&] { make_synthetic_data(at, {.samples = samples, .shards = shards}); });
  };
  CHECK(code(scratch / "new", 0, 8) == errc::invalid_argument);
  CHECK(code(scratch / "new", 5, 0) == errc::invalid_argument);
  CHECK(code(scratch / "new", 5, 6) == errc::invalid_argument);
  CHECK_FALSE(fs::exists(scratch / "new"));
  CHECK(code("/dev/null/x", 1, 1) == errc::io);
}

TEST_CASE("an error in one shard ends the run with that error") {
  const test::temporary_directory scratch;
  fs::create_directories(scratch / "train-000003.tar/in the way");
  const synthetic_options options{.samples = 8, .shards = 4, .threads = 2};
  const auto problem =
      check_refusal([&] { make_synthetic_data(scratch.path(), options); }, errc::io);
  CHECK(problem.details().file == scratch / "train-000003.tar");
}

} // namespace

} // namespace leat::synthetic_photos_test
