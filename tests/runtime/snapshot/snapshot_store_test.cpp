#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::snapshot_store_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;

/// A store in a directory of its own.
struct store_fixture {
  temporary_directory directory;
  fs::path path = fs::path{directory.path()} / "made" / "by save";
  snapshot_store store{path};

  void save_set(std::uint64_t epoch, std::uint64_t step, std::uint64_t world_size = 1,
                std::uint64_t keep = 100) {
    for (std::uint64_t rank = 0; rank < world_size; ++rank)
      store.save(part_of(epoch, step, rank, world_size), keep);
  }

  std::set<std::string> files() const { return names_in(path); }

  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(path);
    write_content(path / name, content);
  }

  void tear(const std::string& name) const { test::tear(path / name); }

  snapshot_store::found newest(bool allow_older = false) const {
    auto x = store.newest(allow_older);
    if (!x)
      throw std::runtime_error("no complete set");
    return x;
  }
};

using names = std::set<std::string>;
using texts = std::vector<std::string>;

} // namespace

TEST_CASE_METHOD(store_fixture, "a directory that does not exist holds no snapshots") {
  CHECK_FALSE(store.newest());
  CHECK_FALSE(store.has_entries());
}

TEST_CASE_METHOD(store_fixture, "a saved set comes back, its parts in the order of the ranks") {
  constexpr std::uint64_t world = 12; // as texts, "10" comes before "2"
  names expected;
  for (std::uint64_t i = 0; i < world; ++i) {
    const auto rank = (i * 5 + 2) % world;
    store.save(part_of(1, 5, rank, world), 3);
    expected.insert("epoch-1-step-5.rank-" + std::to_string(rank) + "-of-12");
  }
  CHECK(files() == expected);
  const auto found = newest();
  REQUIRE(found.parts.size() == world);
  for (std::uint64_t rank = 0; rank < world; ++rank)
    CHECK(encode(found.parts[rank]) == encode(part_of(1, 5, rank, world)));
  CHECK(found.skipped.empty());
  CHECK(store.has_entries());
}

TEST_CASE_METHOD(store_fixture, "a part saved again replaces the first") {
  save_set(0, 1);
  auto again = part_of(0, 1);
  again.sums.samples = 99;
  store.save(again, 1);
  CHECK(newest().parts.at(0).sums.samples == 99);
}

TEST_CASE_METHOD(store_fixture, "newest is by epoch and step as numbers, not by name or time") {
  for (auto [epoch, step] : std::vector<std::pair<int, int>>{{1, 2}, {0, 900}, {1, 10}, {1, 9}})
    save_set(epoch, step);
  CHECK(newest().parts.at(0).epoch == 1);
  CHECK(newest().parts.at(0).step == 10);
}

TEST_CASE_METHOD(store_fixture, "an incomplete newer set is passed over with a notice") {
  save_set(0, 4, 2);
  store.save(part_of(0, 7, 1, 3), 3);
  store.save(part_of(0, 7, 2, 3), 3);
  const auto found = newest();
  CHECK(found.parts.at(0).step == 4);
  CHECK(found.skipped == texts{"epoch 0 step 7: 2 of 3 parts, no part of rank 0"});
}

TEST_CASE_METHOD(store_fixture, "a set of parts from two runs is passed over with a notice") {
  save_set(0, 4, 2);
  auto part = part_of(0, 7, 0, 2);
  store.save(part, 3); // then this run was killed
  part = part_of(0, 7, 1, 2);
  part.began = 4;
  store.save(part, 3); // and the next one was, too
  const auto found = newest();
  CHECK(found.parts.at(0).step == 4);
  REQUIRE(found.skipped.size() == 1);
  CHECK(has(found.skipped[0], "epoch 0 step 7: bad snapshot: "));
  CHECK(has(found.skipped[0], "began at step 4"));
  for (const int rank : {0, 1}) // removes the only other complete set
    fs::remove(path / ("epoch-0-step-4.rank-" + std::to_string(rank) + "-of-2"));
  const auto none = store.newest();
  CHECK_FALSE(none);
  CHECK(none.skipped == found.skipped);
}

TEST_CASE_METHOD(store_fixture, "of two worlds at one step the larger complete one is taken") {
  save_set(0, 3, 1);
  save_set(0, 3, 2);
  CHECK(newest().parts.size() == 2);
  fs::remove(path / "epoch-0-step-3.rank-0-of-2");
  CHECK(newest().parts.size() == 1);
  CHECK(newest().skipped == texts{"epoch 0 step 3: 1 of 2 parts, no part of rank 0"});
}

TEST_CASE_METHOD(store_fixture, "a torn file in the newest set is an error that names it") {
  save_set(0, 1, 2);
  save_set(0, 2, 2);
  save_set(0, 3, 2);
  tear("epoch-0-step-3.rank-1-of-2");
  const auto x = thrown_by([&] { store.newest(); });
  CHECK(x.code() == errc::bad_snapshot);
  CHECK(x.details().file == (path / "epoch-0-step-3.rank-1-of-2").string());

  tear("epoch-0-step-2.rank-0-of-2");
  const auto found = newest(true);
  CHECK(found.parts.at(0).step == 1);
  REQUIRE(found.skipped.size() == 2);
  CHECK(has(found.skipped[0], "epoch 0 step 3: bad snapshot: "));
  CHECK(has(found.skipped[1], "epoch-0-step-2.rank-0-of-2"));
}

TEST_CASE_METHOD(store_fixture,
                 "torn files alone leave nothing to restore, also where older are allowed") {
  save_set(0, 1);
  write("epoch-0-step-1.rank-0-of-1", "");
  CHECK(code_of([&] { store.newest(); }) == errc::bad_snapshot);
  CHECK_FALSE(store.newest(true));
}

TEST_CASE_METHOD(store_fixture, "a part under another name than its content is refused") {
  save_set(0, 1);
  fs::rename(path / "epoch-0-step-1.rank-0-of-1", path / "epoch-0-step-2.rank-0-of-1");
  const auto x = thrown_by([&] { store.newest(); });
  CHECK(x.code() == errc::bad_snapshot);
  CHECK(has(x.what(), "got the content of epoch-0-step-1.rank-0-of-1"));
}

TEST_CASE_METHOD(store_fixture, "a writer killed at any moment leaves the older set to restore") {
  save_set(0, 1, 2);
  const auto bytes = encode(part_of(0, 2, 0, 2));
  for (std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size()}) {
    write("epoch-0-step-2.rank-0-of-2.tmp", bytes.substr(0, size));
    CHECK(newest().parts.at(0).step == 1);
    CHECK(newest().skipped.empty());
  }
  write("epoch-0-step-2.rank-0-of-2", bytes); // killed after the rename
  CHECK(newest().parts.at(0).step == 1);
  CHECK(newest().skipped == texts{"epoch 0 step 2: 1 of 2 parts, no part of rank 1"});
}

TEST_CASE_METHOD(store_fixture, "save removes leftovers of its own rank, not those of others") {
  save_set(0, 1, 2);
  write("epoch-0-step-2.rank-0-of-2.tmp", "half");
  write("epoch-0-step-2.rank-1-of-2.tmp", "being written");
  write("epoch-0-step-1.rank-0-of-4.tmp", "half");
  store.save(part_of(0, 2, 0, 2), 1);
  CHECK(files()
        == names{"epoch-0-step-1.rank-0-of-2", "epoch-0-step-1.rank-1-of-2",
                 "epoch-0-step-2.rank-0-of-2", "epoch-0-step-2.rank-1-of-2.tmp"});
}

TEST_CASE_METHOD(store_fixture,
                 "the newest complete sets are kept, and what is newer than the oldest of them") {
  save_set(0, 1, 2);
  save_set(0, 2, 2);
  write("epoch-0-step-2.rank-2-of-3.tmp", "of a world that is gone");
  store.save(part_of(0, 3, 0, 2), 2); // never completed
  store.save(part_of(0, 4, 0, 2), 2);
  CHECK(files().size() == 7);
  store.save(part_of(0, 4, 1, 2), 2);
  CHECK(files()
        == names{"epoch-0-step-2.rank-0-of-2", "epoch-0-step-2.rank-1-of-2",
                 "epoch-0-step-2.rank-2-of-3.tmp", "epoch-0-step-3.rank-0-of-2",
                 "epoch-0-step-4.rank-0-of-2", "epoch-0-step-4.rank-1-of-2"});
  save_set(0, 5, 2, 1);
  CHECK(files() == names{"epoch-0-step-5.rank-0-of-2", "epoch-0-step-5.rank-1-of-2"});
}

TEST_CASE_METHOD(
    store_fixture,
    "a rank that began anew may write behind a set that is complete with its former parts") {
  for (std::uint64_t step = 1; step <= 3; ++step)
    store.save(part_of(0, step, 0, 2), 100); // of rank 0's former life
  write("epoch-0-step-1.rank-0-of-2.tmp", "being written");
  for (std::uint64_t step = 1; step <= 3; ++step)
    store.save(part_of(0, step, 1, 2), 1);
  CHECK(files()
        == names{"epoch-0-step-1.rank-0-of-2.tmp", "epoch-0-step-3.rank-0-of-2",
                 "epoch-0-step-3.rank-1-of-2"});
}

TEST_CASE_METHOD(store_fixture, "a set that cannot be restored does not push out one that can") {
  save_set(0, 1, 2);
  save_set(0, 2, 2);
  tear("epoch-0-step-2.rank-1-of-2");
  store.save(part_of(0, 3, 0, 2), 1);
  auto part = part_of(0, 3, 1, 2);
  part.began = 1; // a mixture of two runs
  store.save(part, 1);
  CHECK(newest(true).parts.at(0).step == 1);
  save_set(0, 3, 2, 1);
  CHECK(files() == names{"epoch-0-step-3.rank-0-of-2", "epoch-0-step-3.rank-1-of-2"});
}

TEST_CASE_METHOD(store_fixture, "a job that went back keeps what it writes, beside the newer set") {
  save_set(0, 20);
  save_set(0, 30);
  SECTION("because the newer one is torn") {
    tear("epoch-0-step-30.rank-0-of-1");
  }
  SECTION("because the caller wanted to") {}
  save_set(0, 25, 1, 1);
  CHECK(files() == names{"epoch-0-step-25.rank-0-of-1", "epoch-0-step-30.rank-0-of-1"});
  fs::remove(path / "epoch-0-step-30.rank-0-of-1");
  CHECK(newest().parts.at(0).step == 25);
}

TEST_CASE_METHOD(store_fixture, "foreign entries are neither read nor removed") {
  names foreign;
  for (const auto* name :
       {"epoch-0-step-1.rank-0-of-0", "epoch-0-step-1.rank-1-of-1", "epoch-0-step-01.rank-0-of-1",
        "epoch-0-step-1.rank-0-of-1 (copy)", "epoch-0-step-+1.rank-0-of-1",
        "epoch-0-step-99999999999999999999.rank-0-of-1", "epoch-0-step-1.rank-0-of-1.tmp.tmp",
        "model.pt", "notes.tmp"}) {
    write(name, "not ours");
    foreign.insert(name);
  }
  fs::create_directory(path / "epoch-7-step-7.rank-0-of-1");
  CHECK(store.has_entries());
  CHECK_FALSE(store.newest());
  save_set(0, 2, 1, 1);
  save_set(0, 3, 1, 1);
  CHECK(newest().parts.at(0).step == 3);
  foreign.insert({"epoch-7-step-7.rank-0-of-1", "epoch-0-step-3.rank-0-of-1"});
  CHECK(files() == foreign);
}

TEST_CASE_METHOD(store_fixture,
                 "a full disk is an error with file and reason, and leaves no trace") {
  save_set(0, 1);
  const auto before = files();
  const auto failure = thrown_by([&] {
    const file_size_limit limit{encode(part_of(0, 2)).size() - 1};
    store.save(part_of(0, 2), 1);
  });
  CHECK(failure.code() == errc::io);
  CHECK(has(failure.details().file, "epoch-0-step-2.rank-0-of-1"));
  CHECK(failure.details().got.starts_with("File too large"));
  CHECK(files() == before);
  CHECK(newest().parts.at(0).step == 1);
}

TEST_CASE_METHOD(store_fixture, "a directory that cannot be made is an error with its path") {
  write("file", "");
  const snapshot_store below{path / "file" / "snapshots"};
  const auto x = thrown_by([&] { below.save(part_of(0, 1), 1); });
  CHECK(x.code() == errc::io);
  CHECK(has(x.details().file, "file"));
  CHECK(x.details().got == "Not a directory");
}

TEST_CASE_METHOD(store_fixture, "a read-only directory is an error that leaves older sets") {
  save_set(0, 1);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_exec);
  if (std::ofstream{path / "probe"}) {
    WARN("not tried: this user may write into read-only directories");
    fs::remove(path / "probe");
    return;
  }
  const auto x = thrown_by([&] { store.save(part_of(0, 2), 1); });
  CHECK(x.code() == errc::io);
  CHECK(x.details().got == "Permission denied");
  CHECK(newest().parts.at(0).step == 1);
  fs::permissions(path, fs::perms::owner_all);
}

TEST_CASE_METHOD(store_fixture, "to keep nothing is refused before anything is written") {
  CHECK(code_of([&] { store.save(part_of(0, 1), 0); }) == errc::invalid_argument);
  CHECK_FALSE(store.has_entries());
}

TEST_CASE_METHOD(store_fixture,
                 "ranks save at the same time, and any moment has a set to restore") {
  constexpr std::uint64_t world_size = 4;
  constexpr std::uint64_t steps = 40;
  save_set(0, 0, world_size);
  std::atomic<int> failures = 0;
  std::atomic<std::uint64_t> running = world_size;
  auto guarded = [&](auto action) {
    try {
      action();
    } catch (const std::exception&) {
      failures++;
    }
  };
  std::vector<std::thread> ranks;
  for (std::uint64_t rank = 0; rank < world_size; ++rank)
    ranks.emplace_back([&, rank] {
      for (std::uint64_t step = 1; step <= steps; ++step)
        guarded([&] { store.save(part_of(0, step, rank, world_size), 2); });
      running--;
    });
  std::uint64_t newest_seen = 0;
  while (running != 0)
    guarded([&] {
      const auto step = newest().parts.at(0).step;
      if (step < newest_seen)
        throw std::runtime_error("an older set than before");
      newest_seen = step;
    });
  for (auto& rank : ranks)
    rank.join();
  CHECK(failures == 0);
  CHECK(newest().parts.size() == world_size);
  CHECK(newest().parts.at(0).step == steps);
  CHECK(files().size() == 2 * world_size);
}

} // namespace leat::snapshot_store_test
