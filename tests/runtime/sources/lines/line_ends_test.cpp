#include "runtime/sources/lines/line_reader.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/storage/local_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace leat::line_ends_test {

using namespace leat::test;

namespace {

/// What a store can find without reading.
enum class finds { nothing, all, now_and_then };

/// Local files in which bytes can be found without reading; counts what is read nevertheless.
class finding_store final : public object_store {
public:
  explicit finding_store(finds how, std::uint64_t seed = 1) : how_(how), random_(seed) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    local_store().list(folder, each);
  }
  object_stat stat(const std::string& name) const override { return local_store().stat(name); }
  std::shared_ptr<stored_objects> open(std::vector<std::string> names) const override {
    return std::make_shared<objects>(*this, local_store().open(std::move(names)));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return std::make_shared<objects>(*this, local_store().open(std::move(names), std::move(stage)));
  }

  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t searches() const { return searches_; }

private:
  class objects final : public stored_objects {
  public:
    objects(const finding_store& of, std::shared_ptr<stored_objects> files)
        : of_(of), files_(std::move(files)) {}

    std::string name(std::size_t object) const override { return files_->name(object); }
    object_version stat(std::size_t object) override { return files_->stat(object); }
    void read(std::span<const read_part> parts, read_done done,
              const std::stop_token& stop) override {
      for (const auto& x : parts)
        of_.bytes_read_ += x.into.size();
      files_->read(parts, std::move(done), stop);
    }
    std::optional<std::uint64_t> find(std::size_t object, std::uint64_t offset, std::byte what,
                                      std::span<std::uint64_t> places,
                                      std::span<std::byte> following, std::size_t& found) override {
      found = 0;
      ++of_.searches_;
      if (of_.how_ == finds::nothing || (of_.how_ == finds::now_and_then && of_.random_() % 3 == 0))
        return std::nullopt;
      std::vector<std::byte> bytes(1 + of_.random_() % 200'000);
      const read_part part{object, offset, bytes};
      const auto n = files_->read_here({&part, 1}, {}).bytes;
      if (n == 0)
        return std::nullopt;
      for (std::size_t i = 0; i < n; ++i)
        if (bytes[i] == what) {
          if (found == places.size())
            return places.back() + 1;
          if (!following.empty())
            following[found] = i + 1 < n ? bytes[i + 1] : what;
          places[found++] = offset + i;
        }
      return offset + n;
    }

  private:
    const finding_store& of_;
    std::shared_ptr<stored_objects> files_;
  };

  finds how_;
  mutable std::mt19937_64 random_;
  mutable std::uint64_t bytes_read_ = 0;
  mutable std::uint64_t searches_ = 0;
};

line_source lines_of(const std::string& path, std::uint64_t ranges, const object_store& store,
                     line_format format = text_lines()) {
  return {"lines",           file_set{{path}, {"x.txt"}},      ranges,
          std::move(format), stream_pool::default_limit_bytes, store};
}

struct read_place {
  stream_record record;
  stream_place after;
};

/// The lines of a unit from a place on.
std::vector<read_place> read_from(const line_source& source, std::uint64_t unit,
                                  const stream_place& place, bool surroundings) {
  const auto reader = source.open(unit, place, {.surroundings = surroundings});
  std::vector<read_place> all;
  for (stream_record x; reader->next(x); x = {})
    all.push_back({x, reader->place()});
  stream_record x;
  REQUIRE_FALSE(reader->next(x));
  return all;
}

void check_same(std::span<const read_place> got, std::span<const read_place> want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(same_record(got[i].record, want[i].record));
    REQUIRE(got[i].after == want[i].after);
    REQUIRE_FALSE(got[i].record.surroundings);
  }
}

/// Lines of about `usual` bytes, some longer than what one search covers, some that begin with
/// white space, and some blank.
std::string text_of(std::mt19937_64& random, std::size_t size, std::size_t usual, bool ends) {
  std::string text;
  while (text.size() < size) {
    const auto line = random() % 60 == 0 ? random() % 300'000 : random() % (2 * usual);
    text += random() % 5 == 0 ? std::string(random() % 500, ' ') : "";
    text += std::string(random() % 6 == 0 ? 0 : line, random() % 7 == 0 ? '\t' : 'x') + '\n';
  }
  if (!ends)
    text += "the last";
  return text;
}

} // namespace

TEST_CASE("lines whose ends are found without reading are the lines, from every place on") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const temporary_directory dir;
  for (const std::size_t usual : {2, 100, 3000, 30'000})
    for (const auto how : {finds::nothing, finds::all, finds::now_and_then})
      for (const std::uint64_t ranges : {1, 3}) {
        CAPTURE(usual, ranges, static_cast<int>(how));
        const auto text = text_of(random, usual * 700 + random() % 900'000, usual, random() % 2);
        tar_writer::write(dir / "x.txt", text);
        const finding_store store{how, random()};
        for (const auto& format : {text_lines(), json_object_lines()}) {
          CAPTURE(format.passes_blank_lines);
          const auto source = lines_of(dir / "x.txt", ranges, store, format);
          for (std::uint64_t r = 0; r < ranges; ++r) {
            const auto want = read_from(source, r, {}, true);
            check_same(read_from(source, r, {}, false), want);
            for (int k = 0; k < 20 && !want.empty(); ++k) {
              const auto i = random() % want.size();
              check_same(read_from(source, r, want[i].after, false),
                         std::span{want}.subspan(i + 1));
            }
          }
        }
      }
}

TEST_CASE("a blank line that is longer than what is read at once is found to be blank") {
  const temporary_directory dir;
  const std::string blank(200'000, ' ');
  const std::string object = "{\"a\": \"" + std::string(200'000, 'x') + "\"}";
  tar_writer::write(dir / "x.txt", blank + '\n' + object + '\n' + blank + '\n' + blank + object
                                       + '\n' + object + '\n' + blank);
  for (const auto how : {finds::nothing, finds::all}) {
    const finding_store store{how};
    const auto source = lines_of(dir / "x.txt", 1, store, json_object_lines());
    for (const bool surroundings : {true, false}) {
      std::vector<std::uint64_t> numbers;
      for (const auto& x : read_from(source, 0, {}, surroundings))
        numbers.push_back(x.record.number);
      CHECK(numbers == std::vector<std::uint64_t>{1, 3, 4});
    }
  }
}

TEST_CASE("what is found without reading is not read, but for the ends of files") {
  std::mt19937_64 random{3};
  const temporary_directory dir;
  tar_writer::write(dir / "x.txt", text_of(random, 40'000'000, 1000, false));
  for (const auto how : {finds::all, finds::nothing}) {
    const finding_store store{how};
    // Only the beginnings of lines that begin with white space are read.
    const auto source = lines_of(dir / "x.txt", 1, store, text_lines());
    const auto lines = read_from(source, 0, {}, false).size();
    CHECK((store.bytes_read() < 500'000) == (how == finds::all));
    // A store that finds nothing is asked only now and then.
    CHECK(store.searches() < (how == finds::all ? lines : 4));
    CHECK(store.searches() > (how == finds::all ? 50 : 1));
    const auto before = store.searches();
    read_from(source, 0, {}, true);
    CHECK(store.searches() == before);
  }
}

TEST_CASE("a line without an end that is found without reading is refused") {
  const temporary_directory dir;
  tar_writer::write(dir / "x.txt", "first\n");
  std::filesystem::resize_file(dir / "x.txt", line_reader::max_line + 500'000); // takes no room
  const finding_store store{finds::all};
  const auto source = lines_of(dir / "x.txt", 1, store);
  const auto reader = source.open(0, {}, {.surroundings = false});
  stream_record x;
  REQUIRE(reader->next(x));
  try {
    (void)reader->next(x);
    FAIL("not refused");
  } catch (const error& problem) {
    CHECK(problem.code() == errc::invalid_argument);
    CHECK(problem.details().offset == 6U);
  }
}

TEST_CASE("a file that is cut short while its lines' ends are looked for is torn") {
  std::mt19937_64 random{5};
  const temporary_directory dir;
  tar_writer::write(dir / "x.txt", text_of(random, 3'000'000, 1000, true));
  // The store that maps files.
  const line_source source{"lines", {dir / "x.txt"}, 1, text_lines()};
  const auto reader = source.open(0, {}, {.surroundings = false});
  stream_record x;
  for (int i = 0; i < 100; ++i)
    REQUIRE(reader->next(x));
  std::filesystem::resize_file(dir / "x.txt", x.offset + 10);
  REQUIRE(code_of([&] {
            while (reader->next(x)) {
            }
          })
          == errc::torn_file);
}

} // namespace leat::line_ends_test
