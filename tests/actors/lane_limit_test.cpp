#include "runtime/order/lane_limit.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

// A job of one lane runs on one rank, now and after every resume: a user who mixes in a corpus of
// one file must be told before the job has run for a week.
namespace leat::lane_limit_test {
namespace {

struct corpora {
  test::temporary_directory at;

  /// Files of ten lines each.
  std::string write(const std::string& name, int files) const {
    for (int i = 0; i < files; ++i) {
      std::ofstream out{at / (name + std::to_string(i) + ".txt")};
      for (int line = 0; line < 10; ++line)
        out << name << line << "\n";
    }
    return at / (name + "*.txt");
  }
};
std::vector<std::string> notices_of(const pipeline& data, const loader_options& options = {}) {
  heard_notices heard;
  { loader x{data, options}; }
  return heard.texts();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE_METHOD(corpora,
                 "lanes: a source of one file that leaves one lane is named, with a cure") {
  const auto many = lines(write("many", 8));
  const auto one = lines(write("one", 1));
  const auto heard = notices_of(mix({many, one}).batch(8));
  REQUIRE(heard.size() == 1);
  CAPTURE(heard.front());
  CHECK(contains(heard.front(), "one*.txt\") has 1 unit"));
  CHECK(contains(heard.front(), "1 lane, and one rank only"));
  CHECK(contains(heard.front(), "For more write ranges=N"));
  CHECK_FALSE(contains(heard.front(), "lanes=N"));
  CHECK(notices_of(one.batch(8)).size() == 1);
  const auto cured = mix({many, lines(at / "one*.txt", {.ranges = 8})}).batch(8);
  CHECK(notices_of(cured).empty());
  CHECK_NOTHROW(loader(cured, {.world_size = 8}));
}

TEST_CASE_METHOD(corpora, "lanes: each cure that is named cures") {
  const auto many = lines(write("many", 8));
  const auto limit = [&](const pipeline& few) {
    const auto data = mix({many, few}).batch(8);
    loader_options four{.world_size = 4};
    const bool is_told = lane_limit(data.root()).has_value();
    CHECK(is_told == problem_of([&] { loader x{data, four}; }).has_value());
    return lane_limit(data.root()).value_or("");
  };
  const auto units = [](std::uint64_t n) {
    return sequential("own@1", n, [](std::uint64_t) { return nullptr; });
  };
  CHECK(contains(limit(units(1)), "For more give it more units (units=N)"));
  CHECK(limit(units(8)).empty());
  const auto archives = [&](const std::string& name, int files) {
    for (int i = 0; i < files; ++i)
      test::tar_writer::write(at / (name + std::to_string(i) + ".tar.gz"),
                              test::gzip(test::tar_writer{}.file("1.text", "a").end().bytes()));
    return tar_stream(at / (name + "*.tar.gz"));
  };
  CHECK(contains(limit(archives("a", 1)), "For more spread its data over more files"));
  CHECK(limit(archives("b", 8)).empty());
  test::tar_writer::write(at / "packed.TXT.GZ", test::gzip("a\nb\n"));
  CHECK(contains(limit(lines(at / "packed.TXT.GZ")),
                 "For more spread its lines over more files, or decompress it and write ranges=N"));
  test::tar_writer::write(at / "unpacked.txt", "a\nb\n");
  CHECK(limit(lines(at / "unpacked.txt", {.ranges = 8})).empty());
}

TEST_CASE_METHOD(
    corpora, "lanes: a notice says when there are fewer than other sources allow, also above one") {
  const auto many = lines(write("many", 8));
  const auto two = json_lines(write("two", 2));
  CHECK(contains(*lane_limit(mix({many, two}).batch(8).root()), "2 lanes, and a world size that"));
  CHECK(contains(*lane_limit(mix({count(80), two}).batch(8).root()), "two*.txt\") has 2 units"));
  CHECK(contains(*lane_limit(mix({many, sequential("own@1", 3, {})}).batch(8).root()), "units=N"));
  // Compressed files cannot be cut.
  const auto packed = at / "packed.txt.gz";
  std::filesystem::copy_file(at / "many0.txt", packed);
  CHECK(contains(*lane_limit(mix({many, lines(packed)}).batch(8).root()),
                 "more files, or decompress it and write ranges=N"));
}

TEST_CASE_METHOD(corpora, "lanes: there is no notice when there are as many as intended") {
  const auto many = lines(write("many", 8));
  const auto one = write("one", 1);
  CHECK(notices_of(many.batch(8)).empty());
  CHECK(notices_of(many.batch(16)).empty());
  CHECK(notices_of(mix({many, lines(one, {.ranges = 8})}).batch(8)).empty());
  CHECK(notices_of(lines(one).batch(8, {.lanes = 1})).empty());
  CHECK(notices_of(lines(one).batch(1)).empty());
  CHECK(notices_of(count(100).batch(8)).empty());
  CHECK(notices_of(count(100).shuffle_buffer(16).batch(8)).empty());
  // Other ranks of the job send no notice.
  CHECK(notices_of(mix({many, lines(write("two", 2))}).batch(8), {.rank = 1, .world_size = 2})
            .empty());
}

TEST_CASE_METHOD(corpora, "lanes: a world size that they do not allow is refused with the reason") {
  const auto data = mix({lines(write("many", 8)), lines(write("one", 1))}).batch(8);
  check_refusal(
      [&] {
        loader x{data, {.world_size = 2}};
      },
      errc::invalid_argument, {"one*.txt\") has 1 unit"});
}

} // namespace
} // namespace leat::lane_limit_test
