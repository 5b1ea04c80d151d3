// Workers tell a store which record they read next.

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/rows/row_worker.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/tokens/token_source.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/object_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

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
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern) const override {
    return std::make_shared<noting_objects>(notes, local_store().open(std::move(names)));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return local_store().open(std::move(names), std::move(stage));
  }

  std::shared_ptr<told_and_read> notes = std::make_shared<told_and_read>();
};

file_set files_in(const noting_store& store, const std::string& pattern) {
  auto files = find_files({pattern}, "test");
  files.store = &store;
  return files;
}

/// In groups of a whole batch: workers choose theirs by the clock.
void check_expected(const pipeline& data, std::uint64_t rows, const noting_store& store) {
  const auto plan = plan_of(data.batch(50, {.end = epoch_end::mask}), nullptr);
  *store.notes = {}; // what planning read
  row_worker worker;
  worker.plan = plan;
  worker.record = std::make_shared<worker_record>();
  worker.function.emplace(plan, worker.record);
  inline_order order{order_of_rank(*plan, 2), *worker.function};
  batch_slot slot{plan->layout, rows_of_rank(*plan)};
  std::uint64_t made = 0;
  for (order.open(slot); slot.plan().what == batch_plan::kind::batch; order.open(slot)) {
    REQUIRE(worker.run(slot, 0, slot.num_rows()) == row_worker::verdict::complete);
    slot.close();
    made += slot.summary().num_valid;
    slot.release();
  }
  REQUIRE(made == rows);
  // All but the first of each group; blocks are read between groups.
  CHECK(store.notes->told > rows * 8 / 10);
  CHECK(store.notes->kept > rows * 8 / 10);
}

TEST_CASE("expected rows: each record is told to the store while the one before it is made") {
  const temporary_directory dir;
  for (int i = 0; i < 2; ++i)
    std::ofstream{dir / (std::to_string(i) + ".bin"), std::ios::binary}
        << std::string(600'000, 'x');
  const noting_store store;
  const auto data =
      indexed("windows@1", open_token_source(files_in(store, dir / "*.bin"), dtype::u16, 600, {}))
          .map("nothing@1", [](sample&, context&) {})
          .shuffle({.seed = 4});
  check_expected(data, 2000, store);
  check_expected(data.shuffle({.seed = 5}), 2000, store);
}

TEST_CASE("expected rows: a line that is read again is told, whatever its item has before it") {
  const temporary_directory dir;
  std::ofstream out{dir / "x.txt"};
  for (int i = 0; i < 500; ++i)
    out << std::string(1200, 'x') << '\n';
  out.close();
  const noting_store store;
  const auto data = stream_pipeline("lines",
                                    {{"patterns", std::vector<std::string>{dir / "x.txt"}},
                                     {"ranges", std::uint64_t{1}},
                                     {"file_order", std::string{"stored"}},
                                     {"seed", std::uint64_t{0}}},
                                    [&] {
                                      return std::make_shared<const line_source>(
                                          "lines", files_in(store, dir / "x.txt"), 1, text_lines());
                                    })
                        .shuffle_buffer(100);
  check_expected(data, 1000, store);
  check_expected(data.repeat(2), 2000, store);
  check_expected(data.enumerate("n"), 1000, store);
  check_expected(data.flat_map(copies(2)), 2000, store);
}

} // namespace
} // namespace leat::expected_rows_test
