#include "tests/support/drain.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

#include <sys/stat.h>

// read_files when files are not as they should be; its meaning, and that it resumes from any
// snapshot, is tested in tests/conformance.
namespace leat::test::read_files_test {
namespace {

void save(const std::string& path, const std::string& bytes) {
  tar_writer::write(path, bytes);
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return std::distance(begin(all), end(all));
}

std::vector<std::string> texts_of(const batch& x) {
  std::vector<std::string> texts;
  const auto field = x.ragged("text");
  for (std::size_t i = 0; i < x.size(); ++i)
    texts.emplace_back(field.text(i));
  return texts;
}

TEST_CASE("read_files: 600 lanes read 600 files through few descriptors") {
  constexpr std::uint64_t lanes = 600;
  constexpr int lines = 3;
  temporary_directory dir;
  std::string list;
  for (std::uint64_t i = 0; i < lanes; ++i) {
    // Names of the same length, for a list that is cut into ranges.
    const auto name = std::to_string(1000 + i) + (i % 2 == 0 ? ".txt.gz" : ".1.text");
    std::string text;
    for (int line = 0; line < lines; ++line)
      text += std::to_string(i) + ' ' + std::to_string(line) + '\n';
    save(dir / name, i % 2 == 0 ? gzip(text) : text);
    list += name + '\n';
  }
  save(dir / "list.txt", list);
  const auto data = leat::lines(dir / "list.txt", {.ranges = lanes})
                        .read_files(file_format::lines, {.folder = dir.path()})
                        .batch(lanes, {.end = epoch_end::mask});
  const auto before = open_descriptors();
  loader from{data, {.workers = 2}};
  std::ptrdiff_t most = 0;
  for (int line = 0; line < lines; ++line) {
    const auto x = from.next();
    REQUIRE(x);
    most = std::max(most, open_descriptors() - before);
    std::vector<std::string> expected;
    for (std::uint64_t i = 0; i < lanes; ++i)
      expected.push_back(std::to_string(i) + ' ' + std::to_string(line));
    CHECK(texts_of(*x) == expected);
  }
  CHECK_FALSE(from.next());
  CHECK(most < 300);
}

TEST_CASE("read_files: what cannot be read ends the job, under any policy") {
  temporary_directory dir;
  save(dir / "good.txt", "a\nb\n");
  save(dir / "torn.txt.gz", gzip("one\ntwo\n").substr(0, 12));
  std::filesystem::create_directory(dir / "folder");
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  const struct {
    std::string name;
    errc code;
  } cases[] = {{"absent.txt", errc::not_found},
               {"torn.txt.gz", errc::torn_file},
               {"folder", errc::invalid_argument},
               {"pipe", errc::invalid_argument},
               {".", errc::invalid_argument}};
  for (const auto& [name, code] : cases)
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(name, workers);
      save(dir / "list.txt", "good.txt\n" + name + "\n");
      const auto data = leat::lines(dir / "list.txt")
                            .read_files(file_format::lines, {.folder = dir.path()})
                            .batch(1, {.end = epoch_end::mask});
      loader from{data, {.workers = workers, .bad_samples = bad_sample_policy::mask}};
      check_refusal([&] { drain(from); }, code, {dir / name});
    }
}

TEST_CASE("read_files: a blank line of the list is no file, wherever it stands") {
  temporary_directory dir;
  save(dir / "a.txt", "1\n2\n");
  save(dir / "list.txt", "\na.txt\n\n \t\r\na.txt\n\n");
  const auto data = leat::lines(dir / "list.txt")
                        .read_files(file_format::lines, {.folder = dir.path()})
                        .batch(3, {.lanes = 1, .end = epoch_end::mask});
  for (const std::size_t workers : {0, 2}) {
    loader from{data, {.workers = workers}};
    REQUIRE(texts_of(*from.next()) == std::vector<std::string>{"1", "2", "1"});
    from.save(dir / "state");
    from.wait_saved();
    loader again{data, {.workers = workers}};
    REQUIRE(again.restore(dir / "state"));
    for (auto* x : {&from, &again}) {
      const auto last = x->next();
      REQUIRE(last);
      CHECK(texts_of(*last) == std::vector<std::string>{"2", "", ""}); // masked rows
      CHECK_FALSE(x->next());
    }
  }
}

TEST_CASE("read_files: a bad item of the list is an invalid row under mask") {
  temporary_directory dir;
  save(dir / "a.txt", "1\n2\n");
  save(dir / "list.jsonl",
       "{\"file\":\"a.txt\"}\nno object\n{\"other\":1}\n{\"file\":\"a.txt\"}\n");
  const auto data = leat::json_lines(dir / "list.jsonl")
                        .read_files(file_format::lines, {.field = "file", .folder = dir.path()})
                        .batch(6, {.end = epoch_end::mask});
  loader failing{data, {.workers = 1}};
  check_refusal([&] { drain(failing); }, errc::bad_sample);
  loader from{data, {.workers = 1, .bad_samples = bad_sample_policy::mask}};
  const auto x = from.next();
  REQUIRE(x);
  CHECK(x->bad().size() == 2);
  CHECK(x->valid_rows() == 4);
  CHECK(x->ids() == std::vector<std::string>{"a.txt/0", "a.txt/1", "a.txt/0", "a.txt/1"});
}

} // namespace
} // namespace leat::test::read_files_test
