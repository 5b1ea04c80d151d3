#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

#include <memory_resource>

namespace leat::test::loader_memory_test {
namespace {

/// Counts what it gives, and fills it with something that is not zero.
class counting_memory : public std::pmr::memory_resource {
public:
  /// Gives no more than `most` blocks; then `fail` throws.
  explicit counting_memory(
      std::size_t most = SIZE_MAX, void (*fail)() = [] { throw std::bad_alloc{}; })
      : most_(most), fail_(fail) {}

  std::size_t blocks() const noexcept { return blocks_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t given() const noexcept { return given_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (given_ == most_)
      fail_();
    ++given_;
    ++blocks_;
    bytes_ += bytes;
    void* at = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    std::memset(at, 0xA5, bytes);
    return at;
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    --blocks_;
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const std::size_t most_;
  void (*const fail_)();
  std::atomic<std::size_t> given_{0};
  std::atomic<std::size_t> blocks_{0};
  std::atomic<std::size_t> bytes_{0};
};

/// Of each row the first of four numbers is written only.
pipeline partly_written(std::uint64_t records) {
  return count(records).map("partly@1", [](sample& x, context& in) {
    x.make<std::uint32_t>("part", {4})[0] = static_cast<std::uint32_t>(in.position());
  });
}

} // namespace

TEST_CASE("batches lie in memory of the program, which gets it back after the last lease") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    const auto memory = std::make_shared<counting_memory>();
    lease kept;
    {
      loader job{partly_written(100).batch(4), {.workers = workers, .batch_memory = memory}};
      REQUIRE(memory->blocks() == 0);
      kept = job.next();
      job.next(); // while another batch is leased: now there are all slots that the job needs
      const auto given = memory->given();
      // Two dense fields (value: 8 bytes, part: 4 of u32), 4 rows each, for every slot.
      REQUIRE(given >= 4); // at least two slots
      REQUIRE(memory->bytes() == given / 2 * 4 * (8 + 16));
      const auto part = kept->view<std::uint32_t, 2>("part");
      REQUIRE(reinterpret_cast<std::uintptr_t>(part.data()) % 4096 == 0);
      for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t i = 0; i < 4; ++i)
          REQUIRE(part(row, i) == (i == 0 ? row : 0)); // zeroed once
      for (int i = 0; i < 10; ++i)
        job.next();
      REQUIRE(memory->given() == given); // used again and again
    }
    REQUIRE(memory->blocks() > 0);
    kept = {};
    REQUIRE(memory->blocks() == 0);
    REQUIRE(memory->bytes() == 0);
  }
}

TEST_CASE("loaders that end while batches are made have given back all memory by then") {
  const auto data = partly_written(1000).batch(4);
  for (std::size_t i = 0; i < 300; ++i) {
    CAPTURE(i);
    const auto memory = std::make_shared<counting_memory>();
    {
      loader job{data, {.workers = 1 + i % 3, .batch_memory = memory}};
      for (std::size_t n = 0; n <= i % 4; ++n)
        job.next();
    }
    REQUIRE(memory->blocks() == 0);
  }
}

TEST_CASE("batches are the same, whatever memory they lie in") {
  const auto data = count(300).shuffle({.seed = 4}).batch(16);
  loader one{data, {.workers = 2}};
  loader other{data, {.workers = 2, .batch_memory = std::make_shared<counting_memory>()}};
  while (const auto a = one.next()) {
    const auto b = other.next();
    REQUIRE(b);
    REQUIRE(a->digest() == b->digest());
    REQUIRE(std::memcmp(a->field("value").data, b->field("value").data, 16 * 8) == 0);
  }
  REQUIRE_FALSE(other.next());
}

TEST_CASE("memory that a resource does not give is a lack of resources, and nothing is lost") {
  const auto fails = {+[] { throw std::bad_alloc{}; },
                      +[] { throw std::runtime_error{"no pinned pages"}; }};
  const auto data = partly_written(40).batch(4);
  const auto state = loader{data, {.workers = 1}}.next()->snapshot();
  for (const std::size_t workers : {0, 1})
    for (const auto fail : fails)
      for (const std::size_t most : {0, 1}) {
        CAPTURE(workers, most);
        const auto memory = std::make_shared<counting_memory>(most, fail);
        {
          loader job{data, {.workers = workers, .batch_memory = memory}};
          job.restore_parts({state});
          check_refusal([&] { job.next(); }, errc::no_resources);
        }
        REQUIRE(memory->blocks() == 0);
        loader job{data, {.workers = workers}};
        job.restore_parts({state});
        REQUIRE(job.next()->positions() == std::vector<std::uint64_t>{4, 5, 6, 7});
      }
}

} // namespace leat::test::loader_memory_test
