#include "runtime/sources/journal/journal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace leat::journal_test {
namespace {

namespace fs = std::filesystem;

constexpr journal_format lines{.format = record_format::lines};
constexpr journal_format frames{.format = record_format::frames};

/// A journal of files of at most this size, if a record is not larger.
journal_format in_files_of(std::uint64_t bytes, record_format format = record_format::frames) {
  return {.format = format, .file_bytes = bytes};
}

std::string record(const record_store& from, std::uint64_t number) {
  sample x;
  const auto content = from.read(number, x);
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

std::vector<std::string> records(const record_store& from) {
  std::vector<std::string> all;
  for (auto i = from.first(); i < from.next(); ++i)
    all.push_back(record(from, i));
  return all;
}

/// Lets the journal take all that a file or pipe has.
void drain(journal& to, int from) {
  while (to.take(from).value() > 0) {
  }
}

/// Lets the journal take a text from a pipe.
void pour(journal& to, std::string_view text) {
  test::pipe_pair pipe;
  pipe.write(text);
  pipe.close_in();
  drain(to, pipe.out());
}

/// Whether a call throws an error with this code, that names a file.
template <class F>
bool fails_with(errc code, F f) {
  const auto x = problem_of(f);
  INFO((x ? x->what() : "nothing was thrown"));
  return x && x->code() == code && !x->details().file.empty();
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator{directory})
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr auto write_file = test::tar_writer::write;

const std::string first_lines = "/00000000000000000000.lines";
const std::string first_frames = "/00000000000000000000.frames";

TEST_CASE("journal: lines come back by number, however they were cut, over any reopenings") {
  test::seeded_random random;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    test::temporary_directory at;
    const auto options = in_files_of(1 + random() % 20'000, record_format::lines);
    std::vector<std::string> given;
    std::string text;
    for (int i = 0; i < 300; ++i) {
      given.emplace_back(random() % 20 == 0 ? random() % 9000 : random() % 50,
                         static_cast<char>('a' + i % 26));
      text += given.back() + '\n';
    }
    std::optional<journal> to;
    for (std::size_t begin = 0; begin < text.size();) {
      if (!to || random() % 8 == 0) {
        to.reset();
        to.emplace(at.path(), options);
      }
      const auto size = std::min<std::size_t>(random() % 3000, text.size() - begin);
      pour(*to, std::string_view{text}.substr(begin, size));
      begin += size;
    }
    REQUIRE(records(*to) == given);
    to.reset();
    to.emplace(at.path(), options);
    REQUIRE(records(*to) == given);
    // In random order, too.
    for (int i = 0; i < 300; ++i) {
      const auto number = random() % given.size();
      REQUIRE(record(*to, number) == given[number]);
    }
  }
}

TEST_CASE("journal: frames of all sizes come back by number, over any reopenings") {
  test::seeded_random random;
  test::temporary_directory at;
  std::vector<std::string> given;
  std::optional<journal> to;
  for (int i = 0; i < 500; ++i) {
    if (!to || random() % 20 == 0) {
      to.reset();
      to.emplace(at.path(), in_files_of(30'000));
    }
    given.emplace_back(random() % 10 == 0 ? random() % 200'000 : random() % 100,
                       static_cast<char>(random()));
    to->append(given.back());
  }
  REQUIRE(files_in(at.path()).size() > 10);
  for (int i = 0; i < 1000; ++i) {
    const auto number = random() % given.size();
    REQUIRE(record(*to, number) == given[number]);
  }
}

TEST_CASE("journal: a text cut at any byte is completed by what comes next") {
  const std::string text = "one\n\nthree\nfour\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CAPTURE(cut);
    test::temporary_directory at;
    pour(*std::make_unique<journal>(at.path(), lines), text.substr(0, cut));
    journal to{at.path(), lines};
    const auto whole = std::count(text.begin(), text.begin() + static_cast<long>(cut), '\n');
    REQUIRE(to.next() == static_cast<std::uint64_t>(whole));
    pour(to, text.substr(cut));
    REQUIRE(records(to) == std::vector<std::string>{"one", "", "three", "four"});
  }
}

TEST_CASE("journal: the end of input ends a line, once") {
  test::temporary_directory at;
  {
    journal to{at.path(), lines};
    to.end_line();
    pour(to, "a\nb");
    REQUIRE(records(to) == std::vector<std::string>{"a"});
    to.end_line();
    to.end_line();
    REQUIRE(records(to) == std::vector<std::string>{"a", "b"});
  }
  journal to{at.path(), lines};
  to.end_line();
  pour(to, "c\n");
  REQUIRE(records(to) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("journal: frames cut at any byte end with the last whole one, and continue") {
  test::temporary_directory whole;
  const std::vector<std::string> given{"first", "", std::string(5000, 'x'), "last"};
  std::vector<std::uint64_t> ends;
  {
    journal to{whole.path(), frames};
    for (const auto& x : given) {
      to.append(x);
      ends.push_back(fs::file_size(whole.path() + first_frames));
    }
  }
  const auto bytes = read_file(whole.path() + first_frames);
  test::temporary_directory at;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    CAPTURE(cut);
    write_file(at.path() + first_frames, std::string_view{bytes}.substr(0, cut));
    const auto left = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin();
    std::vector<std::string> expected{given.begin(), given.begin() + left};
    {
      journal to{at.path(), frames};
      REQUIRE(records(to) == expected);
      to.append("more");
    }
    expected.emplace_back("more");
    REQUIRE(records(journal{at.path(), frames}) == expected);
  }
}

TEST_CASE("journal: a changed byte of a frame is found, wherever it is") {
  test::temporary_directory at;
  const std::vector<std::string> given{"first", "second", "", "last"};
  {
    journal to{at.path(), frames};
    for (const auto& x : given)
      to.append(x);
  }
  const auto bytes = read_file(at.path() + first_frames);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    auto changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write_file(at.path() + first_frames, changed);
    REQUIRE(fails_with(errc::torn_file, [&] { records(journal{at.path(), frames}); }));
  }
}

TEST_CASE("journal: a full disk loses no byte of a pipe, and no earlier record") {
  test::temporary_directory at;
  test::pipe_pair pipe;
  journal to{at.path(), lines};
  const std::string text = "a line\n";
  for (int i = 0; i < 1000; ++i)
    pipe.write(text);
  {
    test::file_size_limit full{4096 + 3};
    while (to.next() < 4096 / text.size())
      REQUIRE(to.take(pipe.out()).value() > 0);
    REQUIRE(fails_with(errc::io, [&] { drain(to, pipe.out()); }));
    REQUIRE(to.next() == 4099 / text.size());
    REQUIRE(record(to, 3) == "a line");
  }
  pipe.close_in();
  drain(to, pipe.out());
  REQUIRE(records(to) == std::vector<std::string>(1000, "a line"));
}

TEST_CASE("journal: a frame for which the disk has no room leaves nothing in the file") {
  test::temporary_directory at;
  journal to{at.path(), frames};
  to.append("good");
  const auto before = fs::file_size(at.path() + first_frames);
  {
    test::file_size_limit full{4096};
    REQUIRE(fails_with(errc::io, [&] { to.append(std::string(5000, 'x')); }));
    REQUIRE(fs::file_size(at.path() + first_frames) == before);
    REQUIRE(records(to) == std::vector<std::string>{"good"});
  }
  to.append("better");
  REQUIRE(records(to) == std::vector<std::string>{"good", "better"});
}

TEST_CASE("journal: bytes of a file are taken from where it stands") {
  test::temporary_directory at;
  write_file(at / "text", "passed over\none\ntwo\n");
  const int file = ::open((at / "text").c_str(), O_RDONLY);
  ::lseek(file, 12, SEEK_SET);
  journal to{at / "journal", lines};
  drain(to, file);
  ::close(file);
  REQUIRE(records(to) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("journal: a pipe that has nothing yet is not the end of it") {
  test::temporary_directory at;
  test::pipe_pair pipe;
  journal to{at.path(), lines};
  REQUIRE_FALSE(to.take(pipe.out()));
  pipe.write("x\n");
  REQUIRE(to.take(pipe.out()) == std::optional<std::size_t>{2});
  pipe.close_in();
  REQUIRE(to.take(pipe.out()) == std::optional<std::size_t>{0});
}

TEST_CASE("journal: one has it at a time") {
  test::temporary_directory at;
  std::optional<journal> first{std::in_place, at.path(), lines};
  REQUIRE(fails_with(errc::io, [&] { journal{at.path(), lines}; }));
  first.reset();
  journal{at.path(), lines};
}

TEST_CASE("journal: records of another kind and foreign files are refused") {
  test::temporary_directory at;
  journal{at / "a", frames};
  REQUIRE(fails_with(errc::mismatch, [&] { journal{at / "a", lines}; }));
  fs::create_directory(at / "b");
  write_file(at / "b/mine.lines", "x");
  REQUIRE(fails_with(errc::mismatch, [&] { journal{at / "b", lines}; }));
  write_file(at / "c", "x");
  REQUIRE(fails_with(errc::io, [&] { journal{at / "c", lines}; }));
}

TEST_CASE("journal: releasing removes files that are not needed, and numbers continue") {
  for (const auto format : {record_format::lines, record_format::frames}) {
    test::temporary_directory at;
    const auto options = in_files_of(100, format);
    {
      journal to{at.path(), options};
      for (int i = 0; i < 100; ++i)
        if (format == record_format::lines)
          pour(to, std::to_string(i) + '\n');
        else
          to.append(std::to_string(i));
      to.release_below(40);
      REQUIRE(to.first() > 0);
      REQUIRE(to.first() <= 40);
      REQUIRE(record(to, 40) == "40");
      REQUIRE(fails_with(errc::not_found, [&] { record(to, to.first() - 1); }));
      REQUIRE(fails_with(errc::not_found, [&] { record(to, 100); }));
      to.release_below(41);
    }
    journal to{at.path(), options};
    REQUIRE(to.first() > 0);
    REQUIRE(to.next() == 100);
    for (auto i = to.first(); i < 100; ++i)
      REQUIRE(record(to, i) == std::to_string(i));
    to.release_below(100);
    REQUIRE(files_in(at.path()).size() == 2); // the lock, and the file with the next number
    REQUIRE(journal{at / "other", options}.next() == 0);
  }
}

TEST_CASE("journal: nothing is appended or locked through a symbolic link") {
  test::temporary_directory at;
  write_file(at / "victim", "a\n");
  for (const std::string name : {"lock", "00000000000000000000.lines"}) {
    const auto directory = fs::path{at / ("journal-" + name)};
    fs::create_directory(directory);
    fs::create_symlink("../victim", directory / name);
    CHECK(fails_with(errc::io, [&] { journal{directory, lines}; }));
  }
  CHECK(fs::file_size(at / "victim") == 2);

  fs::create_directory_symlink(at / "target", at / "linked"); // directories may be links
  fs::create_directory(at / "target");
  journal to{at / "linked", lines};
  pour(to, "a\n");
  CHECK(records(to) == std::vector<std::string>{"a"});
}

TEST_CASE("journal: half a line is not counted in the file that it was copied from") {
  test::temporary_directory at;
  write_file(at.path() + first_lines, "a\nb\nhal");
  write_file(at / "00000000000000000002.lines", "half\nc");
  write_file(at / "00000000000000000002.lines.tmp", "left by the dead");
  journal to{at.path(), lines};
  pour(to, "\n");
  REQUIRE(records(to) == std::vector<std::string>{"a", "b", "half", "c"});
  REQUIRE(files_in(at.path()).size() == 3);
}

TEST_CASE("journal: a line longer than a file is one record") {
  test::temporary_directory at;
  journal to{at.path(), in_files_of(1000, record_format::lines)};
  const std::string line(150'000, 'x');
  pour(to, "short\n");
  for (std::size_t i = 0; i < line.size(); i += 50'000)
    pour(to, line.substr(i, 50'000));
  pour(to, "\nshort\n");
  REQUIRE(records(to) == std::vector<std::string>{"short", line, "short"});
}

TEST_CASE("journal: a lost or shortened file in the middle is found") {
  test::temporary_directory at;
  const auto options = in_files_of(50);
  {
    journal to{at.path(), options};
    for (int i = 0; i < 10; ++i)
      to.append(std::to_string(i));
  }
  const auto victim = at / files_in(at.path())[1];
  fs::resize_file(victim, fs::file_size(victim) - 1);
  REQUIRE(fails_with(errc::torn_file, [&] { records(journal{at.path(), options}); }));
  fs::remove(victim);
  REQUIRE(fails_with(errc::torn_file, [&] { records(journal{at.path(), options}); }));
}

TEST_CASE(
    "journal: a file in the middle with a line more or less is refused before its first one") {
  test::temporary_directory at;
  const auto options = in_files_of(10, record_format::lines);
  pour(*std::make_unique<journal>(at.path(), options), "one\ntwo\nthree\n");
  pour(*std::make_unique<journal>(at.path(), options), "four\n");
  for (const char* changed : {"one two\nthree\n", "on\ne\ntwo\nthree\n"}) {
    write_file(at.path() + first_lines, changed);
    const journal from{at.path(), options};
    REQUIRE(record(from, 3) == "four");
    for (int turn = 0; turn < 2; ++turn)
      REQUIRE(fails_with(errc::torn_file, [&] { record(from, 0); }));
  }
}

TEST_CASE("journal: few files are open, however many there are") {
  test::temporary_directory at;
  journal to{at.path(), in_files_of(1)};
  for (int i = 0; i < 100; ++i)
    to.append(std::to_string(i));
  REQUIRE(to.open_count() <= 17);
  for (int turn = 0; turn < 2; ++turn)
    for (std::uint64_t i = 0; i < 100; ++i)
      REQUIRE(record(to, i) == std::to_string(i));
  REQUIRE(to.open_count() <= 17);
}

TEST_CASE("journal: with sync it is the same") {
  test::temporary_directory at;
  journal to{at.path(), {.format = record_format::lines, .file_bytes = 10, .sync = true}};
  for (int i = 0; i < 10; ++i)
    pour(to, "12345\n6");
  REQUIRE(to.next() == 10);
  REQUIRE(record(to, 0) == "12345");
  REQUIRE(record(to, 9) == "612345");
}

TEST_CASE("journal: threads read what is there while one adds and one releases") {
  test::temporary_directory at;
  journal to{at.path(), in_files_of(2000)};
  std::atomic<std::uint64_t> released = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::vector<std::jthread> readers;
  constexpr std::uint64_t all = 5000;
  for (unsigned i = 0; i < 2; ++i)
    readers.emplace_back([&, i] {
      std::mt19937 random{i};
      while (to.next() < all) {
        const auto from = released.load();
        const auto end = to.next();
        const auto number = from + random() % std::max<std::uint64_t>(end - from, 1);
        try {
          if (number < end && record(to, number) != std::to_string(number))
            ++wrong;
        } catch (const error&) {
          if (number >= released)
            ++wrong;
        }
      }
    });
  for (std::uint64_t i = 0; i < all; ++i) {
    to.append(std::to_string(i));
    if (i % 100 == 0 && i > 1000) {
      released = i - 1000;
      to.release_below(i - 1000);
    }
  }
  readers.clear();
  REQUIRE(wrong == 0);
}

} // namespace
} // namespace leat::journal_test
