// Workers tell a store which record they read next.

#include "runtime/sources/tokens/token_source.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/object_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::expected_rows_test {
namespace {

using test::temporary_directory;

/// What one thread told the store, and did.
struct told_and_read {
  std::size_t told = 0;
  /// Reads of the very bytes that were told before the read before.
  std::size_t kept = 0;
};

class noting_objects final : public stored_objects {
public:
  noting_objects(std::shared_ptr<told_and_read> notes, std::shared_ptr<stored_objects> local)
      : notes_(std::move(notes)), local_(std::move(local)) {}

  std::string name(std::size_t object) const override { return local_->name(object); }
  object_version stat(std::size_t object) override { return local_->stat(object); }
  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    for (const auto& x : parts) {
      const std::pair at{x.object, x.offset};
      notes_->kept += at == expected_ ? 1 : 0;
      expected_ = std::exchange(told_, {SIZE_MAX, 0});
    }
    local_->read(parts, std::move(done), stop);
  }
  void expect(std::size_t object, std::uint64_t offset, std::uint64_t size) noexcept override {
    ++notes_->told;
    told_ = {object, size == 1200 ? offset : UINT64_MAX};
  }

private:
  std::shared_ptr<told_and_read> notes_;
  std::shared_ptr<stored_objects> local_;
  std::pair<std::size_t, std::uint64_t> told_{SIZE_MAX, 0};
  std::pair<std::size_t, std::uint64_t> expected_{SIZE_MAX, 0};
};

class noting_store final : public object_store {
public:
  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    local_store().list(folder, each);
  }
  object_stat stat(const std::string& name) const override { return local_store().stat(name); }
  std::shared_ptr<stored_objects> open(std::vector<std::string> names) const override {
    return std::make_shared<noting_objects>(notes, local_store().open(std::move(names)));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return local_store().open(std::move(names), std::move(stage));
  }

  std::shared_ptr<told_and_read> notes = std::make_shared<told_and_read>();
};

TEST_CASE("expected rows: each record is told to the store while the one before it is made") {
  const temporary_directory dir;
  for (int i = 0; i < 2; ++i)
    std::ofstream{dir / (std::to_string(i) + ".bin"), std::ios::binary}
        << std::string(600'000, 'x');
  const noting_store store;
  const auto data = indexed("windows@1", open_token_source(find_files({dir / "*.bin"}, "test"),
                                                           dtype::u16, 600, {}, store))
                        .map("nothing@1", [](sample&, context&) {})
                        .shuffle({.seed = 4});
  for (const bool is_shuffled : {false, true}) {
    *store.notes = {};
    const auto job = (is_shuffled ? data.shuffle({.seed = 5}) : data).batch(50);
    loader x{job, {.workers = 0, .epochs = 2}};
    std::uint64_t rows = 0;
    while (auto batch = x.next())
      rows += batch->valid_rows();
    REQUIRE(rows == 2000);
    // All but the first of each group that a worker takes at a time.
    CHECK(store.notes->told > rows * 8 / 10);
    CHECK(store.notes->kept == store.notes->told);
  }
}

} // namespace
} // namespace leat::expected_rows_test
