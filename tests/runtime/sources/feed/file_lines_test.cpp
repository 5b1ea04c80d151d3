#include "runtime/sources/feed/file_lines.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <filesystem>

namespace leat::file_lines_test {
namespace {

struct taken_line {
  std::string place;
  std::string content;

  bool operator==(const taken_line&) const = default;
};

/// Up to so many takes.
std::vector<taken_line> lines_after(const std::vector<std::string>& files,
                                    const std::string& last) {
  const auto input = file_lines(files);
  const auto reader = input->begin(last);
  std::vector<taken_line> all;
  const auto add = [&](const placed_record& x) {
    all.push_back({std::string{x.place}, std::string{x.content}});
  };
  while (reader->take(add)) {
  }
  return all;
}

TEST_CASE("file_lines: a reader that begins after any line gives exactly those that follow") {
  const test::temporary_directory at;
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::minstd_rand random{seed};
  std::vector<std::string> files;
  std::vector<std::string> lines;
  for (int file = 0; file < 4; ++file) {
    std::string text;
    for (auto left = random() % 20; left > 0; --left) {
      // Some are longer than what is read at once, and some are empty.
      lines.emplace_back(random() % 10 == 0 ? 600'000 : random() % 40, 'a' + random() % 26);
      text += lines.back();
      if (left > 1 || lines.back().empty() || random() % 2 == 0)
        text += '\n';
    }
    files.push_back(at / ("file" + std::to_string(file)));
    std::ofstream{files.back()} << text;
  }
  const auto all = lines_after(files, "");
  REQUIRE(all.size() == lines.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    REQUIRE(all[i].content == lines[i]);
  for (std::size_t i = 0; i < all.size(); ++i)
    REQUIRE(
        (lines_after(files, all[i].place)
         == std::vector<taken_line>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end())));
}

TEST_CASE("file_lines: a line that no record can be is refused before it is read to its end") {
  const test::temporary_directory at;
  std::ofstream{at / "long"} << "one\n";
  std::filesystem::resize_file(at / "long", std::uintmax_t{1} << 40);
  const auto input = file_lines({at / "long"});
  const auto from = input->begin("");
  std::vector<std::string> all;
  const auto add = [&](const placed_record& x) { all.emplace_back(x.content); };
  CHECK(code_of([&] {
          while (from->take(add)) {
          }
        })
        == errc::io);
  CHECK(all == std::vector<std::string>{"one"});
}

TEST_CASE("file_lines: files that cannot be those of the journal are refused, with their names") {
  const test::temporary_directory at;
  std::ofstream{at / "a"} << "one\ntwo\n";
  const std::vector<std::string> files{at / "a"};
  const auto code = [&](const std::string& last) {
    return code_of([&] { lines_after(files, last); });
  };
  CHECK(code("0:8") == std::nullopt);
  CHECK(code("0:9") == errc::mismatch);
  CHECK(code("1:0") == errc::mismatch);
  for (const auto* forged : {"x", "0:", ":4", "0:4x", "-1:4", "0:99999999999999999999"})
    CHECK(code(forged) == errc::mismatch);
  CHECK(code_of([&] { lines_after({at / "none"}, ""); }) == errc::not_found);
  CHECK(code_of([] { file_lines({}); }) == errc::invalid_argument);
}

} // namespace
} // namespace leat::file_lines_test
