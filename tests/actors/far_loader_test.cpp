// Loaders over a store that is not local.

#include "runtime/sources/tar/tar_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drain.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/job.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

namespace leat::far_loader_test {
namespace {

using test::far_store;
using test::files_in;
using test::tar_writer;
using test::temporary_directory;

/// Forty records in two shards.
void write_shards(const temporary_directory& dir) {
  for (int shard = 0; shard < 2; ++shard) {
    tar_writer tar;
    for (int i = 0; i < 20; ++i)
      tar.file(std::to_string(i) + ".txt", std::string(static_cast<std::size_t>(i * 40), 'x'));
    tar.end().save(dir / (std::to_string(shard) + ".tar"));
  }
}

pipeline data_in(const temporary_directory& dir, const object_store& store) {
  return indexed("shards@1",
                 open_tar_source(files_in(store, dir / "*.tar"), {.index_dir = dir / "index"}))
      .shuffle({.seed = 3})
      .batch(8, {.lanes = 4, .end = epoch_end::mask});
}

TEST_CASE("loader: a store that answers late, in pieces and in any order changes no batch") {
  temporary_directory dir;
  write_shards(dir);
  const auto near =
      run_job(data_in(dir, local_store()), {.workers = 0, .epochs = 2, .hash_pixels = true}, 1);
  for (const std::size_t workers : {0, 1, 3})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const far_store store{{.seed = seed}};
      CHECK(run_job(data_in(dir, store), {.workers = workers, .epochs = 2, .hash_pixels = true}, 2)
            == near);
    }
}

TEST_CASE("loader: destroying it ends the wait of its workers for a store, and no other's") {
  temporary_directory dir;
  write_shards(dir);
  far_store store{{.one_short_in = 0}};
  const auto data = data_in(dir, store);
  loader other{data, {.workers = 1}};
  {
    loader x{data,
             {.workers = 2, .epochs = 1000, .prefetch = 4, .while_waiting = [] { return false; }}};
    store.hold_after(0);
    // What has arrived is handed over, up to the first batch that waits for the store.
    CHECK(code_of([&] { drain(x); }) == errc::interrupted);
    store.wait_for_reads(2);
  }
  store.release();
  std::uint64_t rows = 0;
  for (auto batch : other)
    rows += batch->valid_rows();
  CHECK(rows == 40);
}

} // namespace
} // namespace leat::far_loader_test
