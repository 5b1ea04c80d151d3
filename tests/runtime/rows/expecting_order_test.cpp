// What stores are told of the rows to come, by jobs whose sources lie in different stores.

#include "runtime/storage/local_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>
#include <leat/stored_source.hpp>

#include <algorithm>
#include <utility>

namespace leat::expecting_order_test {
namespace {

using namespace leat::test;

/// What was expected of a file, in order.
using told = std::vector<std::uint64_t>;

/// A local file of a store that wants to know what comes.
class listening_objects final : public stored_objects {
public:
  listening_objects(const std::string& path, told& offsets, told* perhaps)
      : local_(local_store().open({path})), offsets_(offsets), perhaps_(perhaps) {}

  std::string name(std::size_t object) const override { return local_->name(object); }
  object_version stat(std::size_t object) override { return local_->stat(object); }
  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    local_->read(parts, std::move(done), stop);
  }
  bool expect_soon(std::span<const expected_range> ranges) noexcept override {
    for (const auto& x : ranges)
      offsets_.push_back(x.offset);
    return true;
  }
  bool expect_perhaps(std::span<const expected_range> ranges) noexcept override {
    for (const auto& x : ranges)
      if (perhaps_)
        perhaps_->push_back(x.offset);
    return true;
  }

private:
  std::shared_ptr<stored_objects> local_;
  told& offsets_;
  told* perhaps_;
};

class bytes_of_file final : public stored_source {
public:
  explicit bytes_of_file(const std::string& path)
      : stored_source(std::vector{path}), size_(std::filesystem::file_size(path)) {}
  bytes_of_file(const std::string& path, told& offsets, told* perhaps)
      : stored_source(std::make_shared<listening_objects>(path, offsets, perhaps)),
        size_(std::filesystem::file_size(path)) {}

  std::uint64_t size() const override { return size_; }
  void locate(std::uint64_t record, std::vector<extent>& into) const override {
    into.push_back({.file = 0, .offset = record, .size = 1});
  }
  void decode(std::uint64_t, std::span<const std::byte> bytes, sample& into) const override {
    into.borrow("byte", bytes);
  }
  std::string name() const override { return "bytes"; }

private:
  std::uint64_t size_;
};

struct file_of_bytes {
  temporary_directory dir;
  std::string path = dir / "x";

  explicit file_of_bytes(std::size_t bytes) { write_content(path, std::string(bytes, 'x')); }

  pipeline near() const { return indexed("near", std::make_shared<bytes_of_file>(path)); }
  pipeline listening(told& to, told* perhaps = nullptr) const {
    return indexed("listening", std::make_shared<bytes_of_file>(path, to, perhaps));
  }
};

/// 0, 1, ... n - 1.
told numbers(std::uint64_t n) {
  told x(n);
  std::generate(x.begin(), x.end(), [i = std::uint64_t{0}]() mutable { return i++; });
  return x;
}

void read(loader& from, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i)
    REQUIRE(from.next());
}

TEST_CASE("expected rows: a store is told of thousands of rows to come, each once and in order") {
  const file_of_bytes file{20'000};
  told offsets;
  loader x{file.listening(offsets).batch(10), {.workers = 0, .epochs = 1}};
  read(x, 1);
  CHECK(offsets.size() >= 4096);
  CHECK(offsets.size() < 4096 + 100);
  read(x, 1999);
  CHECK(offsets == numbers(20'000));
}

TEST_CASE("expected rows: a rank's first rows are on their way before its fields are known") {
  const file_of_bytes file{20'000};
  told offsets;
  told perhaps;
  const loader x{file.listening(offsets, &perhaps).skip(5).batch(10),
                 {.rank = 1, .world_size = 2, .workers = 0}};
  CHECK(offsets.empty());
  CHECK(perhaps == told{5, 6, 8, 10, 12, 14}); // the first sample, and every second one of ten
}

TEST_CASE("expected rows: a rank without a number expects none before it has one") {
  const file_of_bytes file{100};
  told offsets;
  told perhaps;
  cluster elastic{.address = "127.0.0.1:1"}; // nobody asks there before the first batch
  elastic.least_ranks = 1;
  elastic.most_ranks = 4;
  const loader x{file.listening(offsets, &perhaps).batch(10),
                 {.workers = 0, .cluster = std::move(elastic)}};
  CHECK(offsets.empty());
  CHECK(perhaps.empty());
}

TEST_CASE(
    "expected rows: after any number of rows of this machine, those of a store are expected") {
  const file_of_bytes file{20'000};
  told offsets;
  loader x{concat({file.near(), file.listening(offsets)}).batch(10), {.workers = 0, .epochs = 1}};
  read(x, 2000);
  CHECK(offsets.empty());
  read(x, 17);
  CHECK(offsets.size() >= 4096);
  const auto first = offsets.front();
  CHECK(first <= 16 * 10);
  read(x, 1983);
  CHECK(offsets.size() == 20'000 - first);
  CHECK(
      std::adjacent_find(offsets.begin(), offsets.end(), [](auto a, auto b) { return a + 1 != b; })
      == offsets.end());
}

TEST_CASE("expected rows: nothing is expected of a row that is made already, or twice") {
  const file_of_bytes file{20'000};
  told offsets;
  // Long parts of both, in turns.
  const auto data = concat({file.near().take(3000), file.listening(offsets).take(5000), file.near(),
                            file.listening(offsets).skip(5000)});
  loader x{data.batch(10), {.workers = 0, .epochs = 1}};
  for (std::uint64_t row = 0; row < 8000; row += 10) {
    read(x, 1);
    if (row >= 3000 + 16 * 10)
      CHECK((offsets.back() == 4999 || offsets.back() + 3000 >= row));
  }
  read(x, 3500);
  CHECK(std::is_sorted(offsets.begin(), offsets.end(), std::less_equal{}));
  CHECK(offsets.size() > 20'000 - 2 * 16 * 10);
}

} // namespace
} // namespace leat::expecting_order_test
