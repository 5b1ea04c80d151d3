#include "runtime/base/xxh3.hpp"
#include "runtime/sources/folder/folder_files.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/seal_index.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include <sys/stat.h>

#include <filesystem>

namespace leat::folder_files_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;
using texts = std::vector<std::string>;

class made_folder {
public:
  explicit made_folder(const texts& files) {
    for (const auto& x : files)
      add(x);
  }

  void add(const std::string& file) const {
    fs::create_directories(fs::path{dir_ / file}.parent_path());
    tar_writer::write(dir_ / file, file);
  }
  void link(const std::string& to, const std::string& name) const {
    fs::create_symlink(to, dir_ / name);
  }
  std::string at(const std::string& name) const { return dir_ / name; }
  const std::string& path() const { return dir_.path(); }

  /// "PATH LABEL" of each image.
  texts images() const {
    texts lines;
    const auto files = list_folder(dir_.path());
    for (const auto& x : files->images)
      lines.push_back(x.path + " " + std::to_string(x.label));
    return lines;
  }

private:
  temporary_directory dir_;
};

/// The data digest of versions that took hidden entries for data.
hash128 older_digest(std::span<const image_file> images) {
  hash_stream hash;
  for (const auto& x : images) {
    hash.add(x.path);
    hash.add(x.bytes);
  }
  return hash.digest128();
}

} // namespace

TEST_CASE("hidden folders are no classes, and hidden entries no images, at any depth") {
  const made_folder clean{{"cat/0.jpg", "cat/deep/1.jpg", "dog/0.jpg"}};
  const made_folder full{{"cat/0.jpg", "cat/deep/1.jpg", "dog/0.jpg", "cat/._0.jpg",
                          "__MACOSX/cat/0.jpg", "@eaDir/0.jpg", ".Trash/0.jpg",
                          "cat/.ipynb_checkpoints/0-checkpoint.jpg", "cat/.Trash/0.jpg",
                          "cat/deep/@eaDir/1.jpg/THUMB.jpg", "dog/__MACOSX/x/y.png",
                          "dog/Thumbs.db", "dog/desktop.ini", ".DS_Store", "dog/.DS_Store"}};
  CHECK(full.images() == texts{"cat/0.jpg 0", "cat/deep/1.jpg 0", "dog/0.jpg 1"});
  CHECK(full.images() == clean.images());
  CHECK(class_names(full.path()) == texts{"cat", "dog"});
  const auto others = list_folder(full.path())->others.entries();
  REQUIRE(others.size() == 1);
  CHECK(others[0] == passed_over_entry{passed_over_reason::hidden, 12, full.at(".DS_Store")});
  CHECK(list_folder(clean.path())->others == passed_over{});
}

TEST_CASE("where the folder itself lies says nothing: its own path may have hidden parts") {
  const made_folder x{{".cache/@eaDir/photos/cat/0.jpg"}};
  CHECK(list_folder(x.at(".cache/@eaDir/photos"))->images.size() == 1);
}

TEST_CASE("a folder that older versions took for a class changes the digest, and others do not") {
  const made_folder x{{"cat/0.jpg", "dog/0.jpg"}};
  const auto digest = [&] { return digest_of(*list_folder(x.path())); };
  const auto before = digest();
  // Orders do not change.
  CHECK(before == older_digest(list_folder(x.path())->images));
  for (const auto* name : {".git/x", "cat/@eaDir/x", "dog/._0.jpg", "Thumbs.db", "dog/.x/0.jpg"})
    x.add(name);
  CHECK(digest() == before);
  // It was class 0, and its only file was not an image: only the labels move.
  x.add("__MACOSX/._cat");
  CHECK(digest() != before);
  CHECK(digest() != older_digest(list_folder(x.path())->images));
  CHECK(source_of(image_folder(x.path())).facts().digest == digest());
}

TEST_CASE("rows that were indexed with hidden images are not those of the images without them") {
  const made_folder x{{"cat/0.jpg", "cat/1.jpg"}};
  const auto files = list_folder(x.path());
  auto older = files->images;
  older.insert(older.begin(), {.path = "cat/._0.jpg", .bytes = 3, .label = 0, .mtime_ns = 1});
  const auto adopted = [&](std::span<const image_file> images) {
    const std::vector<std::vector<std::byte>> none(images.size());
    return folder_index::adopt(held(folder_index::write(images, {{none, none}})), files->images);
  };
  CHECK(adopted(files->images));
  CHECK_FALSE(adopted(older));
}

TEST_CASE(".jfif and .webp are images") {
  CHECK(made_folder{{"cat/0.jfif", "cat/1.JFIF", "cat/2.WebP"}}.images()
        == texts{"cat/0.jfif 0", "cat/1.JFIF 0", "cat/2.WebP 0"});
}

TEST_CASE("all that a class folder leaves out is counted, with the first name and the reason") {
  const made_folder x{{"a/0.jpg", "a/0.gif", "a/1.bmp", "a/deep/x.txt", "b/readme", "top.jpg",
                       "labels.csv", "else/0.jpg", "a.leat-index", "c/.x/0.jpg"}};
  x.link("../else", "a/more");
  x.link("..", "a/up.jpg");
  x.link("nowhere.jpg", "a/lost.jpg");
  x.link("nowhere", "a/gone");
  x.link("else", "linked");
  x.link("a/0.jpg", "top-link.jpg");
  x.link("nowhere", "class");
  x.link("0.gif", "a/link.gif");
  REQUIRE(::mkfifo(x.at("a/pipe.jpg").c_str(), 0600) == 0);
  using why = passed_over_reason;
  const std::vector<passed_over_entry> want{
      {why::hidden, 1, x.at("c/.x")},          {why::special, 1, x.at("a/pipe.jpg")},
      {why::lost_link, 3, x.at("a/gone")},     {why::folder_link, 2, x.at("a/more")},
      {why::other_ending, 5, x.at("a/0.gif")}, {why::outside, 3, x.at("labels.csv")},
      {why::empty_class, 2, x.at("b")}};
  CHECK(x.images() == texts{"a/0.jpg 0", "else/0.jpg 3", "linked/0.jpg 4"});
  CHECK(list_folder(x.path())->others.entries() == want);
}

TEST_CASE("what a source passes over is said once, in one notice, and is a fact of the pipeline") {
  const made_folder x{{"a/0.jpg", "a/0.gif", "a/._1.jpg", "b/x.bmp"}};
  caught_notices notices;
  const auto data = image_folder(x.path());
  CHECK(data.size() == 1);
  CHECK(data.size() == 1);
  const auto batched = data.shuffle({.seed = 1}).batch(1);
  CHECK(operators_with_data(batched).inputs.size() == 1);
  REQUIRE(notices.texts().size() == 1);
  CHECK(notices.texts()[0]
        == "passed over 2 files that are no .jpg, .jpeg, .jfif, .png or .webp (" + x.at("a/0.gif")
               + ", ...), 1 class folder without an image, which has a number all the same ("
               + x.at("b") + ")");
  const auto facts = passed_over_in(batched);
  REQUIRE(facts.size() == 3);
  CHECK(facts[0] == data_passed_over{"hidden", "hidden entry", 1, x.at("a/._1.jpg")});
  CHECK(facts[1].why == "other_ending");
  CHECK(facts[2].why == "empty_class");
  CHECK(notices.texts().size() == 1);
  CHECK(passed_over_in(count(5)).empty());
}

TEST_CASE("a folder without an image says what it has instead") {
  const made_folder x{{"a/0.gif", "a/1.gif"}};
  check_error([&] { list_folder(x.path()); },
              {.code = errc::not_found, .got_has = "2 files that are no .jpg"});
}

TEST_CASE("links of a pattern that lead nowhere are said by every source of files") {
  const made_folder x{{"a.txt", "b.txt"}};
  x.link("gone", "c.txt");
  for (const auto& data :
       {lines(x.at("*.txt")), json_lines(x.at("*.txt")), tokens(x.at("*.txt"), dtype::u8, 2)}) {
    caught_notices notices;
    const auto facts = passed_over_in(data);
    REQUIRE(facts.size() == 1);
    CHECK(facts[0] == data_passed_over{"lost_link", "link that leads nowhere", 1, x.at("c.txt")});
    CHECK(notices.texts()
          == texts{"passed over 1 link that leads nowhere (" + x.at("c.txt") + ")"});
  }
}

} // namespace leat::folder_files_test
