#include "runtime/storage/packed_stream.hpp"
#include "runtime/storage/stream_ahead.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/memory_stream.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace leat::stream_ahead_test {

using namespace leat::test;

namespace {

/// Gives one byte per read, without end.
class counted_stream final : public byte_stream {
public:
  explicit counted_stream(std::atomic<std::uint64_t>& reads) : reads_(reads) {}

  std::size_t read(std::span<std::byte> into) override {
    ++reads_;
    into.front() = std::byte{1};
    return 1;
  }
  std::uint64_t offset() const override { return reads_; }

private:
  std::atomic<std::uint64_t>& reads_;
};

std::unique_ptr<packed_stream> unpacked(const std::string& packed) {
  return std::make_unique<packed_stream>("x", packing::gzip,
                                         std::make_unique<memory_stream>(packed), restart_point{});
}

/// The result of a read.
struct given {
  std::string bytes = {};
  std::uint64_t offset = 0;
  restart_point restart = {};

  friend bool operator==(const given&, const given&) = default;
};

std::vector<given> read_blocks(byte_stream& x, std::optional<errc>& failure) {
  std::vector<given> all;
  std::string block(stream_block_bytes, '\0');
  failure = code_of([&] {
    while (const auto n = x.read(std::as_writable_bytes(std::span{block})))
      all.push_back({block.substr(0, n), x.offset(), x.restart()});
  });
  return all;
}

/// In its first run, adds itself again just before it returns, and then waits for permission to
/// return.
class added_early final : public ahead_threads::work {
public:
  explicit added_early(ahead_threads& by) : by_(by) {}

  std::atomic<int> runs = 0;
  std::atomic<bool> may_end = false;
  std::atomic<bool> has_ended = false;

private:
  bool run() noexcept override {
    const auto n = ++runs;
    runs.notify_all();
    if (n == 1) {
      by_.add(*this);
      runs.wait(1); // the other thread runs it
    } else {
      may_end.wait(false);
      has_ended = true;
    }
    return false;
  }

  ahead_threads& by_;
};

/// Signals that it ran.
class noticed final : public ahead_threads::work {
public:
  std::atomic<bool> has_run = false;

private:
  bool run() noexcept override {
    has_run = true;
    has_run.notify_all();
    return false;
  }
};

std::string some_members(std::mt19937& random) {
  std::string packed;
  for (auto members = 1 + random() % 6; members > 0; --members) {
    std::string part(random() % 4 == 0 ? 0 : random() % (random() % 4 == 0 ? 400'000 : 3'000),
                     '\0');
    for (auto& c : part)
      c = static_cast<char>(random() % 7);
    packed += gzip(part);
  }
  return packed;
}

} // namespace

TEST_CASE("stream_ahead: the same bytes, places and errors as without it") {
  seeded_random random;
  ahead_threads threads{2};
  for (int i = 0; i < 40; ++i) {
    auto packed = some_members(random);
    if (random() % 3 == 0)
      packed.resize(random() % packed.size());
    std::optional<errc> wanted_failure;
    const auto wanted = read_blocks(*unpacked(packed), wanted_failure);
    stream_ahead ahead{unpacked(packed), threads};
    std::optional<errc> failure;
    REQUIRE((read_blocks(ahead, failure) == wanted)); // too long to print
    REQUIRE(failure == wanted_failure);
    std::byte next{};
    if (failure) // a failure stays one
      REQUIRE(code_of([&] { ahead.read({&next, 1}); }) == failure);
    else
      REQUIRE(ahead.read({&next, 1}) == 0);
  }
}

TEST_CASE("stream_ahead: the place to begin again is known at every byte, however it is read") {
  seeded_random random;
  ahead_threads threads{1};
  for (int i = 0; i < 10; ++i) {
    const auto packed = some_members(random);
    std::vector<restart_point> restarts{{}};
    const auto direct = unpacked(packed);
    std::byte next{};
    while (direct->read({&next, 1}) > 0)
      restarts.push_back(direct->restart());
    stream_ahead ahead{unpacked(packed), threads};
    std::vector<std::byte> into(stream_block_bytes);
    while (ahead.read(std::span{into}.first(1 + random() % (i % 2 == 0 ? 100 : into.size()))) > 0)
      REQUIRE((ahead.restart() == restarts.at(ahead.offset())));
    REQUIRE(ahead.offset() == restarts.size() - 1);
  }
}

TEST_CASE("stream_ahead: many streams over few threads, read in turns and given up at any place") {
  std::mt19937 random{7};
  for (int i = 0; i < 30; ++i) {
    ahead_threads threads{1 + random() % 3};
    struct reading {
      std::unique_ptr<byte_stream> direct;
      std::unique_ptr<stream_ahead> ahead;
    };
    std::vector<reading> all;
    for (auto n = 1 + random() % 12; n > 0; --n) {
      const auto packed = some_members(random);
      all.push_back({unpacked(packed), std::make_unique<stream_ahead>(unpacked(packed), threads)});
    }
    std::vector<std::byte> into(1 + random() % 100'000);
    std::vector<std::byte> wanted(into.size());
    for (auto n = random() % 60; n > 0; --n) {
      auto& x = all[random() % all.size()];
      const auto got = x.ahead->read(into);
      REQUIRE(read_all(*x.direct, std::span{wanted}.first(got)) == got);
      REQUIRE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(got),
                         wanted.begin()));
    }
  }
}

TEST_CASE("stream_ahead: it reads a few pieces ahead, and no more") {
  std::atomic<std::uint64_t> reads = 0;
  ahead_threads threads{1};
  stream_ahead ahead{std::make_unique<counted_stream>(reads), threads};
  std::vector<std::byte> into(1000);
  for (std::uint64_t i = 1; i <= 2'000; ++i) {
    REQUIRE(ahead.read(into) == 1);
    REQUIRE(ahead.offset() == i);
    REQUIRE(reads <= i + 9); // what is ready, and what is being read
  }
}

TEST_CASE("ahead_threads: work that was added again while a thread was leaving it is waited for") {
  for (int i = 0; i < 200; ++i) {
    ahead_threads threads{2};
    noticed other;
    added_early x{threads};
    threads.add(x);
    threads.add(other);
    other.has_run.wait(false); // by the thread that has left
    std::thread releases{[&] {
      x.may_end = true;
      x.may_end.notify_all();
    }};
    x.runs.wait(0);
    x.runs.wait(1);
    threads.remove(x);
    const bool has_ended = x.has_ended;
    releases.join();
    REQUIRE(has_ended);
    threads.remove(other);
  }
}

} // namespace leat::stream_ahead_test
