#include "runtime/storage/remote/far_stream.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/files.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/temporary_directory.hpp"

#include <random>

namespace leat::far_stream_test {
namespace {

using namespace leat::test;

std::string read_to_end(byte_stream& from, std::mt19937_64& random) {
  std::string all;
  for (;;) {
    std::string part(1 + random() % 100'000, '\0');
    const auto n = from.read(std::as_writable_bytes(std::span{part}));
    if (n == 0)
      return all;
    all += part.substr(0, n);
  }
}

TEST_CASE("far stream: gives the object's bytes from any place, however its store answers") {
  std::mt19937_64 random{1};
  temporary_directory dir;
  const auto text = random_bytes(random, 5'000'000);
  write_content(dir / "x", text);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const far_store store{{.seed = seed}};
    byte_budget budget{seed % 2 == 0 ? 100'000U : 100'000'000U};
    const auto objects = store.open({dir / "x"});
    {
      const auto begin = seed == 1 ? 0 : random() % text.size();
      far_stream x{*objects, 0, begin, text.size(), budget};
      CHECK(x.offset() == begin);
      CHECK(read_to_end(x, random) == text.substr(begin));
      CHECK(x.offset() == text.size());
      far_stream left{*objects, 0, 0, text.size(), budget}; // reads that nobody waits for
      std::string part(70'000, '\0');
      read_all(left, std::as_writable_bytes(std::span{part}));
      CHECK(part == text.substr(0, 70'000));
    }
    CHECK(budget.used() == 0);
  }
}

TEST_CASE("far stream: blocks are read ahead as soon as the reader is past the first") {
  temporary_directory dir;
  write_content(dir / "x", std::string(10'000'000, 'x'));
  far_store store{{.one_short_in = 0}};
  const auto objects = store.open({dir / "x"});
  byte_budget budget{100'000'000};
  far_stream x{*objects, 0, 0, 10'000'000, budget};
  std::string part(65'536, '\0');
  const auto read = [&] { return x.read(std::as_writable_bytes(std::span{part})); };
  CHECK(read() == 65'536);
  CHECK(store.seen().ended == 1); // a reader of a header asks for no more
  while (x.offset() < 5'000'000)
    read();
  CHECK(budget.used() >= 10'000'000 - x.offset()); // all that comes has been asked for
}

TEST_CASE("far stream: an object that has become shorter is torn, and a failure is passed on") {
  temporary_directory dir;
  write_content(dir / "x", std::string(100'000, 'x'));
  const far_store store{{.seed = 3}};
  const auto objects = store.open({dir / "x"});
  far_stream x{*objects, 0, 0, 200'000};
  std::mt19937_64 random{1};
  CHECK(code_of([&] { read_to_end(x, random); }) == errc::torn_file);
  const far_store failing{
      {.one_short_in = 0, .fail = [](const std::string& name, std::uint64_t at) {
         return at > 0 ? std::optional{error(errc::io, {.file = name, .got = "503"})}
                       : std::nullopt;
       }}};
  const auto others = failing.open({dir / "x"});
  far_stream y{*others, 0, 0, 100'000};
  std::string all(65'536, '\0');
  CHECK(read_all(y, std::as_writable_bytes(std::span{all})) == 65'536); // what came before
  check_error([&] { read_to_end(y, random); }, {.code = errc::io, .got = "503"});
}

TEST_CASE("rising reads: pass over what lies between, and go back where they must") {
  std::mt19937_64 random{2};
  temporary_directory dir;
  const auto text = random_bytes(random, 6'000'000);
  write_content(dir / "x", text);
  const far_store store{{.seed = 2}};
  const auto objects = store.open({dir / "x"});
  rising_reads x{*objects, 0, text.size()};
  for (const std::uint64_t offset :
       {0U, 512U, 100'000U, 700'000U, 5'900'000U, 100U, 5'999'900U, 6'000'000U}) {
    CAPTURE(offset);
    std::string part(512, '\0');
    const auto n = x.read(offset, std::as_writable_bytes(std::span{part}));
    CHECK(part.substr(0, n) == text.substr(offset, 512));
  }
}

} // namespace
} // namespace leat::far_stream_test
