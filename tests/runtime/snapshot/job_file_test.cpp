#include "runtime/base/framed_bytes.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::job_file_test {

using namespace leat::test;

namespace {

constexpr std::size_t head_bytes = 40;
constexpr std::size_t end_bytes = 24;

/// Forges files of three parts, and reads them.
struct forger {
  temporary_directory at;
  std::string path = at / "epoch-1-step-5.of-3";
  set_name name{1, 5, 3};
  std::vector<std::string> parts = encoded_parts(1, 5, 3);
  std::vector<part_place> places;
  std::string body;

  forger() {
    body = job_file_head(name);
    for (const auto& part : parts) {
      places.push_back({body.size(), part.size()});
      body += part;
    }
  }

  /// The body with an index of these places and a matching checksum.
  std::string sealed() const { return body + job_file_tail(name, places); }

  std::optional<error> refusal(const std::string& bytes) const {
    write_content(path, bytes);
    return problem_of([&] { job_file_reader{path}.parts(); });
  }

  void check_refused(const std::string& bytes, const std::string& text) const {
    const auto problem = refusal(bytes).value();
    CHECK(problem.code() == errc::bad_snapshot);
    CHECK(problem.details().file == path);
    CAPTURE(problem.what());
    CHECK(has(problem.what(), text));
  }
};

} // namespace

TEST_CASE("the parts of a job come back from one file, whatever their order of arrival") {
  for (const std::uint64_t world_size : {1, 2, 8, 1000}) {
    const temporary_directory at;
    const auto parts = encoded_parts(2, 9, world_size);
    std::vector<std::uint64_t> order(world_size);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::mt19937 random{static_cast<unsigned>(world_size)};
    std::shuffle(order.begin(), order.end(), random);
    job_file_writer writer{at / "made by it", {2, 9}, world_size};
    for (const auto rank : order)
      writer.add(rank, parts[rank]);
    CHECK(writer.added() == world_size);
    CHECK_FALSE(writer.finish(1));
    const job_file_reader file{at / "made by it/epoch-2-step-9.of-" + std::to_string(world_size)};
    CHECK(file.name() == set_name{2, 9, world_size});
    CHECK(file.position() == job_position{2, 9});
    CHECK(file.world_size() == world_size);
    std::uint64_t largest = 0;
    for (std::uint64_t rank = 0; rank < world_size; ++rank) {
      REQUIRE(file.part_bytes(rank) == parts[rank]);
      REQUIRE(encode(file.part(rank)) == parts[rank]);
      largest = std::max<std::uint64_t>(largest, parts[rank].size());
    }
    CHECK(file.largest_part() == largest);
    const auto all = file.parts();
    REQUIRE(all.size() == world_size);
    for (std::uint64_t rank = 0; rank < world_size; ++rank)
      REQUIRE(encode(all[rank]) == parts[rank]);
    CHECK(merge(all, true).sums.samples == world_size * 7 + world_size * (world_size - 1) / 2);
    file.check_parts();
  }
}

TEST_CASE("a job's file has the bytes that its documentation says") {
  const forger x;
  auto bytes = x.sealed();
  CHECK(bytes.substr(0, 16) == std::string("leat.job\1\0\0\0\0\0\0\0", 16));
  const auto at = [&](std::size_t offset) {
    return little_endian_at<std::uint64_t>(bytes, offset);
  };
  CHECK(at(16) == 1);
  CHECK(at(24) == 5);
  CHECK(at(32) == 3);
  const auto end = bytes.size() - end_bytes;
  CHECK(at(end) == 3 * 16);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto entry = end - 3 * 16 + rank * 16;
    const auto offset = at(entry);
    CHECK(bytes.substr(offset, at(entry + 8)) == x.parts[rank]);
  }
  job_file_writer writer{x.at.path(), {1, 5}, 3};
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    writer.add(rank, x.parts[rank]);
  writer.finish(1);
  CHECK(content_of(x.path) == bytes);
}

TEST_CASE("a flipped bit anywhere in a job's file is noticed") {
  const forger x;
  const auto bytes = x.sealed();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    CAPTURE(i);
    const auto problem = x.refusal(damaged).value();
    REQUIRE(problem.code() == errc::bad_snapshot);
    REQUIRE(problem.details().file == x.path);
  }
}

TEST_CASE("a job's file that is cut short, or has more at its end, is noticed") {
  const forger x;
  const auto bytes = x.sealed();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_content(x.path, bytes.substr(0, size));
    CAPTURE(size);
    REQUIRE(code_of([&] { job_file_reader{x.path}; }) == errc::bad_snapshot);
  }
  for (const std::size_t more : {1, 16, 24, 1000})
    x.check_refused(bytes + std::string(more, '\0'), "got ");
  x.check_refused(bytes + bytes, "got ");
}

TEST_CASE("an index that was forged and sealed again is refused") {
  const auto check = [](const std::string& what, const std::string& text,
                        const std::function<void(forger&)>& forge) {
    INFO(what);
    forger x;
    forge(x);
    x.check_refused(x.sealed(), text);
  };
  const std::string part = "got a part of";
  check("a part twice", part, [](auto& x) { x.places[2] = x.places[1]; });
  check("the parts of two ranks exchanged",
        "got epoch-1-step-5.rank-2-of-3, needed the part epoch-1-step-5.rank-0-of-3",
        [](auto& x) { std::swap(x.places[0], x.places[2]); });
  check("a part that overlaps the next", part, [](auto& x) { x.places[0].length += 1; });
  check("a gap", part, [](auto& x) { x.places[0].length -= 1; });
  check("bytes after the last part", "1 bytes between the parts and the index",
        [](auto& x) { x.body += '\0'; });
  check("a part in the head", part, [](auto& x) { x.places[0].offset = head_bytes - 1; });
  check("a part in the index", part, [](auto& x) { x.places[2].length += 1; });
  check("a part outside the file", part, [](auto& x) { x.places[2].offset = 1 << 30; });
  for (const auto offset : {std::uint64_t{40}, UINT64_MAX - 20})
    for (const std::size_t rank : {0, 1, 2}) {
      CAPTURE(offset, rank);
      const part_place overflows{offset, UINT64_MAX - 10};
      check("numbers that overflow", part, [&](auto& x) { x.places[rank] = overflows; });
    }
  check("an empty part", "got a part of 0 bytes", [](auto& x) { x.places[1].length = 0; });
  check("fewer parts than ranks", "got an index of", [](auto& x) { x.places.pop_back(); });
  check("more parts than ranks", "got ", [](auto& x) {
    x.places.emplace_back() = part_place{x.body.size(), 0};
  });
}

TEST_CASE("a head that was forged and sealed again is refused") {
  forger x;
  const auto forged = [&](const set_name& name) {
    return job_file_head(name) + x.body.substr(head_bytes) + job_file_tail(name, x.places);
  };
  x.check_refused(forged({1, 6, 3}), "the part epoch-1-step-6.rank-0-of-3");
  x.check_refused(forged({2, 5, 3}), "the part epoch-2-step-5.rank-0-of-3");
  for (const std::uint64_t ranks : {2, 4})
    x.check_refused(forged({1, 5, ranks}), "an index of 48 bytes");
  // Numbers of ranks that ask for all memory.
  for (const auto ranks :
       {std::uint64_t{0}, std::uint64_t{1'000'001}, std::uint64_t{1} << 60, UINT64_MAX})
    x.check_refused(forged({1, 5, ranks}), "got a job of " + std::to_string(ranks) + " ranks");
  x.check_refused(forged({1, 5, 1'000'000}), "16000000 for the index of 1000000 ranks");
  auto other_version = x.sealed();
  other_version[8] = 2;
  x.check_refused(other_version, "version 2 of a job's file");
}

TEST_CASE("a part that is too long is not read") {
  forger x;
  x.places[2].length = max_snapshot_bytes + 1;
  x.body.resize(x.places[2].offset + x.places[2].length);
  x.check_refused(x.sealed(), "of at most 16777216 bytes");
}

TEST_CASE("parts that do not belong together are read, and told by whoever checks that") {
  forger x;
  auto part = part_of(1, 5, 1, 3);
  part.began = 4;
  x.parts[1] = encode(part);
  write_content(x.path, job_file_bytes(x.name, x.parts));
  const job_file_reader file{x.path};
  CHECK(file.parts().size() == 3);
  CHECK(code_of([&] { file.check_parts(); }) == errc::bad_snapshot);
  CHECK(code_of([&] { merge(file.parts(), true); }) == errc::bad_snapshot);
}

TEST_CASE("what a file of snapshots is, its name or its first bytes say") {
  const forger x;
  write_content(x.path, x.sealed());
  CHECK(snapshot_file_at(x.path) == snapshot_file::job);
  write_content(x.at / "copy", x.sealed());
  CHECK(snapshot_file_at(x.at / "copy") == snapshot_file::job);
  write_content(x.path, "torn");
  CHECK(snapshot_file_at(x.path) == snapshot_file::job);
  write_content(x.at / "epoch-1-step-5.rank-0-of-3", x.parts[0]);
  CHECK(snapshot_file_at(x.at / "epoch-1-step-5.rank-0-of-3") == snapshot_file::part);
  write_content(x.at / "model.pt", "something");
  CHECK(snapshot_file_at(x.at / "model.pt") == snapshot_file::other);
  CHECK(snapshot_file_at(x.at.path()) == snapshot_file::other);
  CHECK(code_of([&] { snapshot_file_at(x.at / "none"); }) == errc::not_found);
  CHECK(code_of([&] { job_file_reader{x.at / "none"}; }) == errc::not_found);
}

TEST_CASE("names of the files of a whole job are those that are written, and no others") {
  CHECK(to_string(set_name{3, 14, 15}) == "epoch-3-step-14.of-15");
  CHECK(parse_set_name("epoch-3-step-14.of-15") == set_name{3, 14, 15});
  CHECK(parse_unfinished_set_name("epoch-3-step-14.of-15.926.5.tmp") == set_name{3, 14, 15});
  for (const auto* text :
       {"", "epoch-3-step-14.of-0", "epoch-3-step-14.of-", "epoch-03-step-14.of-15",
        "epoch-3-step-14.of-15 ", "epoch-3-step-14.of-15.tmp", "epoch-3-step-14.rank-0-of-15",
        "epoch-3-step-14.of-99999999999999999999", "xepoch-3-step-14.of-15"})
    CHECK_FALSE(parse_set_name(text));
  for (const auto* text :
       {"", "epoch-3-step-14.of-15", "epoch-3-step-14.of-15.tmp", "epoch-3-step-14.of-15.1.tmp",
        "epoch-3-step-14.of-15.1.2.tmp.tmp", "epoch-3-step-14.of-15.01.2.tmp",
        "epoch-3-step-14.of-0.1.2.tmp", "epoch-3-step-14.rank-0-of-15.tmp"})
    CHECK_FALSE(parse_unfinished_set_name(text));
}

TEST_CASE("a job file's checksum is that of its head, its index and the length of the index") {
  const set_name name{1, 2, 2};
  const auto tail = job_file_tail(name, {{40, 3}, {43, 5}});
  const auto hashed = job_file_head(name) + tail.substr(0, tail.size() - 16);
  hash_stream hash;
  hash.add_raw(std::as_bytes(std::span{hashed}));
  const auto sum = hash.digest128();
  CHECK(little_endian_at<std::uint64_t>(tail, tail.size() - 16) == sum.low);
  CHECK(little_endian_at<std::uint64_t>(tail, tail.size() - 8) == sum.high);
}

} // namespace leat::job_file_test
