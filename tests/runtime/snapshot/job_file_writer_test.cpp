#include "runtime/snapshot/job_file_writer.hpp"
#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::job_file_writer_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;

using names = std::set<std::string>;

struct job_files {
  temporary_directory at;
  snapshot_store store{at.path()};

  names files() const { return names_in(at.path()); }

  /// Saves a set as one file.
  auto save(std::uint64_t epoch, std::uint64_t step, std::uint64_t world_size = 1,
            std::uint64_t keep = 100) const {
    return save_job(at.path(), epoch, step, world_size, keep);
  }

  /// Saves a set as one file per rank.
  void save_parts(std::uint64_t epoch, std::uint64_t step, std::uint64_t world_size = 1,
                  std::uint64_t keep = 100) const {
    for (std::uint64_t rank = 0; rank < world_size; ++rank)
      store.save(part_of(epoch, step, rank, world_size), keep);
  }

  job_file_writer writer(std::uint64_t epoch, std::uint64_t step, std::uint64_t world_size) const {
    return {at.path(), {epoch, step}, world_size};
  }

  void tear(const std::string& name) const { test::tear(at / name); }

  /// Damages a part, and leaves the index as it was.
  void damage(const std::string& name) const {
    auto bytes = content_of(at / name);
    bytes[100] = static_cast<char>(bytes[100] + 1);
    write_content(at / name, bytes);
  }
};

void check_refused(job_file_writer& writer, std::uint64_t rank, const std::string& bytes,
                   const std::string& text) {
  const auto problem = thrown_by([&] { writer.add(rank, bytes); });
  CHECK(problem.code() == errc::bad_snapshot);
  CAPTURE(problem.what());
  CHECK(has(problem.what(), text));
}

} // namespace

TEST_CASE_METHOD(job_files, "until it is finished nobody sees a job's file, and then it is whole") {
  {
    auto writer = this->writer(0, 3, 2);
    writer.add(1, encode(part_of(0, 3, 1, 2)));
    CHECK_FALSE(store.newest());
    CHECK_FALSE(newest_job_file(at.path()));
    writer.add(0, encode(part_of(0, 3, 0, 2)));
    CHECK_FALSE(store.newest());
    CHECK(files().size() == 1);
    writer.finish(1);
    CHECK(files() == names{"epoch-0-step-3.of-2"});
    CHECK(code_of([&] { writer.finish(1); }) == errc::invalid_argument);
    CHECK(code_of([&] { writer.add(0, encode(part_of(0, 3, 0, 2))); }) == errc::invalid_argument);
  }
  CHECK(files() == names{"epoch-0-step-3.of-2"});
  const auto found = store.newest();
  REQUIRE(found.parts.size() == 2);
  CHECK(found.in_one_file);
  CHECK(found.largest_part == encode(part_of(0, 3, 1, 2)).size());
  CHECK(encode(found.parts[1]) == encode(part_of(0, 3, 1, 2)));
}

TEST_CASE_METHOD(job_files, "a writer that is not finished leaves nothing") {
  {
    auto writer = this->writer(0, 3, 2);
    writer.add(1, encode(part_of(0, 3, 1, 2)));
    auto moved = std::move(writer);
    moved.add(0, encode(part_of(0, 3, 0, 2)));
  }
  CHECK(files().empty());
}

TEST_CASE_METHOD(job_files, "parts that are not of the set are refused, and the right ones taken") {
  auto writer = this->writer(1, 5, 3);
  writer.add(1, encode(part_of(1, 5, 1, 3)));
  const auto good = encode(part_of(1, 5, 0, 3));
  check_refused(writer, 0, "nonsense", "8 bytes");
  check_refused(writer, 0, good.substr(0, good.size() - 1), "as the header says");
  check_refused(writer, 0, encode(part_of(1, 5, 2, 3)), "got epoch-1-step-5.rank-2-of-3");
  check_refused(writer, 0, encode(part_of(1, 5, 0, 4)), "got epoch-1-step-5.rank-0-of-4");
  check_refused(writer, 0, encode(part_of(1, 6, 0, 3)), "got epoch-1-step-6.rank-0-of-3");
  check_refused(writer, 0, encode(part_of(0, 5, 0, 3)), "got epoch-0-step-5.rank-0-of-3");
  check_refused(writer, 3, good, "below the world size 3");
  check_refused(writer, UINT64_MAX, good, "below the world size 3");
  check_refused(writer, 1, encode(part_of(1, 5, 1, 3)), "rank 1 twice");
  const auto changed = [](const std::function<void(snapshot&)>& change) {
    auto part = part_of(1, 5, 0, 3);
    change(part);
    return encode(part);
  };
  check_refused(writer, 0, changed([](auto& x) { x.began = 4; }), "began at step 4");
  check_refused(writer, 0, changed([](auto& x) { x.global_step = 7; }), "step 7 of the job");
  check_refused(writer, 0, changed([](auto& x) {
                  x.left_out = {{1, 2}};
                }),
                "leave out different steps");
  check_refused(writer, 0, changed([](auto& x) { x.fields = {{.name = "x", .dims = {}}}; }),
                "different fields");
  check_refused(writer, 0, changed([](auto& x) { x.pipeline = batch_of(count_of(1000), 20, 10); }),
                "rows");
  const auto missing = thrown_by([&] { writer.finish(1); });
  CHECK(missing.code() == errc::bad_snapshot);
  CHECK(missing.details().got == "no parts of ranks 0, 2");
  CHECK(missing.details().file == at / "epoch-1-step-5.of-3");
  CHECK(code_of([&] { writer.finish(0); }) == errc::invalid_argument);
  writer.add(0, good);
  writer.add(2, encode(part_of(1, 5, 2, 3)));
  CHECK(writer.added() == 3);
  writer.finish(1);
  job_file_reader{at / "epoch-1-step-5.of-3"}.check_parts();
}

TEST_CASE_METHOD(job_files, "world sizes that no job has are refused before anything is written") {
  for (const auto ranks : {std::uint64_t{0}, std::uint64_t{1'000'001}, UINT64_MAX})
    CHECK(code_of([&] { writer(0, 1, ranks); }) == errc::invalid_argument);
  CHECK(files().empty());
}

TEST_CASE_METHOD(job_files, "a full disk leaves older sets, and no trace of the new one") {
  save(0, 1, 3);
  save_parts(0, 2, 3);
  const auto before = files();
  const auto whole = job_file_bytes({0, 3, 3}, encoded_parts(0, 3, 3));
  for (std::size_t limit = 0; limit < whole.size(); limit += limit + 50 < whole.size() ? 50 : 1) {
    const file_size_limit disk{limit};
    std::optional<error> failure;
    try {
      auto writer = this->writer(0, 3, 3);
      for (std::uint64_t rank = 0; rank < 3; ++rank) {
        failure = problem_of([&] { writer.add(rank, encode(part_of(0, 3, rank, 3))); });
        if (failure)
          break;
      }
      if (!failure)
        failure = problem_of([&] { writer.finish(1); });
      CAPTURE(limit);
      REQUIRE(failure);
      REQUIRE(files() == before); // at once, not when the writer is gone
      REQUIRE(thrown_by([&] { writer.finish(1); }).what() == std::string{failure->what()});
      REQUIRE(code_of([&] { writer.add(0, encode(part_of(0, 3, 0, 3))); }) == errc::io);
    } catch (const error& x) {
      failure = x;
    }
    REQUIRE(failure->code() == errc::io);
    REQUIRE(failure->details().file == at / "epoch-0-step-3.of-3");
    REQUIRE(failure->details().got.starts_with("File too large"));
    REQUIRE(files() == before);
    REQUIRE(store.newest().parts.at(0).step == 2);
  }
  const file_size_limit disk{whole.size()};
  save(0, 3, 3);
  CHECK(store.newest().parts.at(0).step == 3);
}

TEST_CASE_METHOD(job_files,
                 "job_file_writer: a directory that cannot be made is an error with its path") {
  write_content(at / "file", "");
  const auto problem = thrown_by([&] { job_file_writer{at / "file/snapshots", {0, 1}, 1}; });
  CHECK(problem.code() == errc::io);
  CHECK(problem.details().got == "Not a directory");
}

TEST_CASE_METHOD(job_files, "a directory that goes meanwhile is an error, and nothing is stored") {
  job_file_writer writer{at / "gone", {0, 1}, 1};
  writer.add(0, encode(part_of(0, 1)));
  fs::remove_all(at / "gone");
  CHECK(code_of([&] { writer.finish(1); }) == errc::io);
  CHECK(files().empty());
}

TEST_CASE_METHOD(job_files, "what dead writers left is removed by the next, but not what is open") {
  for (const auto* name :
       {"epoch-0-step-1.of-2.4294967295.0.tmp", "epoch-9-step-9.of-7.4294967295.12.tmp",
        "epoch-0-step-2.of-1.tmp", "notes.tmp"})
    write_content(at / name, "half");
  auto other = writer(0, 7, 2); // in this process, and of a newer set
  auto older = writer(0, 1, 2);
  other.add(0, encode(part_of(0, 7, 0, 2)));
  older.add(0, encode(part_of(0, 1, 0, 2)));
  save(0, 4, 2);
  const auto now = files();
  CHECK(now.size() == 5);
  CHECK(now.contains("epoch-0-step-4.of-2"));
  CHECK(now.contains("epoch-0-step-2.of-1.tmp")); // nobody writes this
  CHECK(now.contains("notes.tmp"));
  other.add(1, encode(part_of(0, 7, 1, 2)));
  older.add(1, encode(part_of(0, 1, 1, 2)));
  older.finish(10);
  other.finish(10);
  CHECK(files()
        == names{"epoch-0-step-1.of-2", "epoch-0-step-4.of-2", "epoch-0-step-7.of-2",
                 "epoch-0-step-2.of-1.tmp", "notes.tmp"});
}

TEST_CASE_METHOD(job_files,
                 "two writers of one set do not disturb each other: the last one stays") {
  auto a = writer(0, 1, 2);
  auto b = writer(0, 1, 2);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    a.add(rank, encode(part_of(0, 1, rank, 2)));
    auto part = part_of(0, 1, rank, 2);
    part.sums.samples = 99;
    part.rank = 1 - rank;
    b.add(part.rank, encode(part));
  }
  a.finish(1);
  CHECK(store.newest().parts.at(0).sums.samples == 7);
  b.finish(1);
  CHECK(store.newest().parts.at(0).sums.samples == 99);
  CHECK(files() == names{"epoch-0-step-1.of-2"});
}

TEST_CASE_METHOD(job_files, "the newest set is taken, whichever way it is stored") {
  save_parts(0, 1, 2);
  save(0, 2, 3);
  CHECK(store.newest().in_one_file);
  CHECK(store.newest().parts.at(0).step == 2);
  save_parts(0, 3, 2);
  CHECK_FALSE(store.newest().in_one_file);
  CHECK(store.newest().parts.at(0).step == 3);
  save(0, 3, 1); // a smaller world at the same step
  CHECK(store.newest().parts.size() == 2);
  save(0, 3, 4);
  CHECK(store.newest().parts.size() == 4);
  save(1, 0, 1);
  CHECK(store.newest().parts.at(0).epoch == 1);
  CHECK(store.newest().skipped.empty());
}

TEST_CASE_METHOD(job_files, "where a set is stored both ways, the one file is taken") {
  save(0, 2, 2);
  auto part = part_of(0, 2, 0, 2);
  part.sums.samples = 99;
  store.save(part, 10);
  const bool has_all_ranks = GENERATE(true, false); // files of some are not an incomplete set
  CAPTURE(has_all_ranks);
  if (has_all_ranks)
    store.save(part_of(0, 2, 1, 2), 10);
  const auto found = store.newest();
  CHECK(found.in_one_file);
  CHECK(found.parts.at(0).sums.samples == 7);
  CHECK(found.skipped.empty());
}

TEST_CASE_METHOD(job_files, "a torn file of a job is an error that names it, or is skipped") {
  save(0, 1, 2);
  save_parts(0, 2, 2);
  save(0, 3, 2);
  const std::string torn = "epoch-0-step-3.of-2";
  const auto way =
      GENERATE(as<std::string>{}, "half of it", "a part damaged", "empty", "another's");
  CAPTURE(way);
  if (way == "half of it")
    tear(torn);
  else if (way == "a part damaged")
    damage(torn);
  else
    write_content(at / torn, way == "empty" ? "" : content_of(at / "epoch-0-step-1.of-2"));
  const auto problem = thrown_by([&] { store.newest(); });
  CHECK(problem.code() == errc::bad_snapshot);
  CHECK(problem.details().file == at / "epoch-0-step-3.of-2");
  const auto found = store.newest(true);
  CHECK(found.parts.at(0).step == 2);
  CHECK_FALSE(found.in_one_file);
  REQUIRE(found.skipped.size() == 1);
  CHECK(has(found.skipped[0], "epoch 0 step 3: bad snapshot: "));
  save_parts(0, 3, 2); // the same set in files of its own
  CHECK(code_of([&] { store.newest(); }) == errc::bad_snapshot);
  CHECK(store.newest(true).parts.at(0).step == 3);
  CHECK(store.newest(true).skipped.size() == 1);
}

TEST_CASE_METHOD(job_files, "the newest file of a job is found by its index") {
  CHECK_FALSE(newest_job_file(at.path()));
  CHECK_FALSE(newest_job_file(at / "none"));
  save(0, 1, 2);
  save(0, 2, 3);
  save_parts(0, 3, 2);
  auto found = newest_job_file(at.path());
  CHECK(found.path == at / "epoch-0-step-2.of-3");
  CHECK(found.set == set_name{0, 2, 3});
  CHECK(found.skipped.empty());
  damage("epoch-0-step-2.of-3"); // its parts are not read
  CHECK(newest_job_file(at.path()).set == set_name{0, 2, 3});
  tear("epoch-0-step-2.of-3");
  found = newest_job_file(at.path());
  CHECK(found.path == at / "epoch-0-step-1.of-2");
  REQUIRE(found.skipped.size() == 1);
  CHECK(has(found.skipped[0], "epoch 0 step 2: bad snapshot: "));
  tear("epoch-0-step-1.of-2");
  found = newest_job_file(at.path());
  CHECK_FALSE(found);
  CHECK(found.skipped.size() == 2);
}

TEST_CASE_METHOD(job_files, "sets of both kinds count, and old ones of both kinds are removed") {
  save_parts(0, 1, 2);
  save(0, 2, 2);
  save_parts(0, 3, 2);
  CHECK(save(0, 4, 2, 3) == job_position{0, 2});
  CHECK(files()
        == names{"epoch-0-step-2.of-2", "epoch-0-step-3.rank-0-of-2", "epoch-0-step-3.rank-1-of-2",
                 "epoch-0-step-4.of-2"});
  save_parts(0, 4, 2); // also in files of their own: still one set
  CHECK(files().size() == 6);
  CHECK_FALSE(save(0, 4, 2, 3));
  store.save(part_of(0, 5, 0, 1), 2);
  CHECK(files()
        == names{"epoch-0-step-4.of-2", "epoch-0-step-4.rank-0-of-2", "epoch-0-step-4.rank-1-of-2",
                 "epoch-0-step-5.rank-0-of-1"});
  CHECK(store.save(part_of(0, 6, 0, 1), 1) == job_position{0, 6});
  CHECK(files() == names{"epoch-0-step-6.rank-0-of-1"});
}

TEST_CASE_METHOD(job_files, "a torn file of a job does not push out a set that can be restored") {
  save(0, 1, 2);
  save(0, 2, 2);
  damage("epoch-0-step-2.of-2");
  save(0, 3, 2, 2);
  CHECK(files() == names{"epoch-0-step-1.of-2", "epoch-0-step-2.of-2", "epoch-0-step-3.of-2"});
  save_parts(0, 2, 2, 100); // it can be restored from its other files
  save(0, 3, 2, 2);
  CHECK_FALSE(files().contains("epoch-0-step-1.of-2"));
}

TEST_CASE_METHOD(job_files, "a job that went back keeps what it writes, beside the newer file") {
  save(0, 30, 2);
  save(0, 20, 2);
  save(0, 25, 2, 1);
  CHECK(files() == names{"epoch-0-step-25.of-2", "epoch-0-step-30.of-2"});
}

TEST_CASE_METHOD(job_files, "a stored snapshot is that of a directory or of one file") {
  save(0, 1, 2);
  save_parts(0, 2, 2);
  CHECK(stored_snapshot(at.path(), false).parts.at(0).step == 2);
  CHECK(stored_snapshot(at / "epoch-0-step-1.of-2", false).parts.at(0).step == 1);
  fs::copy_file(at / "epoch-0-step-1.of-2", at / "copy");
  CHECK(stored_snapshot(at / "copy", false).parts.size() == 2);
  CHECK_FALSE(stored_snapshot(at / "none", false));
  for (const auto* none : {"epoch-0-step-5.of-2", "epoch-0-step-5.rank-0-of-2"})
    CHECK(code_of([&] { stored_snapshot(at / none, true); }) == errc::not_found);
  const auto part = thrown_by([&] { stored_snapshot(at / "epoch-0-step-2.rank-0-of-2", true); });
  CHECK(part.code() == errc::bad_snapshot);
  CHECK(part.details().got == "the part of one rank");
  CHECK(has(part.details().needed, "restore_parts"));
  write_content(at / "model.pt", "weights");
  CHECK(code_of([&] { stored_snapshot(at / "model.pt", true); }) == errc::bad_snapshot);
  CHECK(code_of([&] { stored_snapshot("/dev/null", true); }) == errc::bad_snapshot);
  damage("copy");
  CHECK(code_of([&] { stored_snapshot(at / "copy", true); }) == errc::bad_snapshot);
  auto parts = encoded_parts(0, 1, 2);
  auto other = part_of(0, 1, 1, 2);
  other.began = 1;
  parts[1] = encode(other);
  write_content(at / "copy", job_file_bytes({0, 1, 2}, parts));
  const auto mixed = thrown_by([&] { stored_snapshot(at / "copy", true); });
  CHECK(mixed.code() == errc::bad_snapshot);
  CHECK(has(mixed.what(), "began at step 1"));
}

TEST_CASE_METHOD(job_files, "files of a job are written, pruned and read at the same time") {
  constexpr std::uint64_t steps = 40;
  save(0, 0, 3);
  std::atomic<bool> is_running = true;
  std::atomic<int> failures = 0;
  std::thread writing{[&] {
    for (std::uint64_t step = 1; step <= steps; ++step)
      failures += code_of([&] { save(0, step, 3, 1); }) ? 1 : 0;
    is_running = false;
  }};
  std::uint64_t seen = 0;
  while (is_running)
    if (code_of([&] {
          const auto step = store.newest().parts.at(0).step;
          const auto by_index = newest_job_file(at.path()).set.step;
          failures += step < seen || by_index < step ? 1 : 0; // an older set than before
          seen = step;
        }))
      ++failures;
  writing.join();
  CHECK(failures == 0);
  CHECK(files() == names{"epoch-0-step-40.of-3"});
}

} // namespace leat::job_file_writer_test
