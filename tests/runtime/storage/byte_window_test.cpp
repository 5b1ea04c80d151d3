#include "runtime/storage/byte_window.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/memory_stream.hpp"
#include "tests/support/random_text.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leat::byte_window_test {
namespace {

/// Gives bytes in memory in pieces of random sizes.
class text_stream final : public test::memory_stream {
public:
  using memory_stream::memory_stream;

  std::size_t read(std::span<std::byte> into) override {
    return memory_stream::read(into.empty() ? into : into.first(1 + random_() % into.size()));
  }

private:
  std::mt19937 random_;
};

std::shared_ptr<shared_bytes_pool> blocks() {
  return std::make_shared<shared_bytes_pool>(4);
}

bool is_part_of(const shared_bytes& held, std::string_view text) {
  const auto all = std::as_bytes(std::span{text}).subspan(static_cast<std::size_t>(held.begin));
  return std::equal(held.all().begin(), held.all().end(), all.begin());
}

TEST_CASE("what a window shares stays as it was, wherever the window goes on") {
  test::seeded_random random;
  const auto text = test::random_bytes(random, 20'000);
  byte_window window{"x", std::make_unique<text_stream>(text), 100, blocks()};
  std::vector<std::shared_ptr<const shared_bytes>> kept;
  for (std::uint64_t at = 0; at < text.size();) {
    const auto held = window.from(at, random() % 300);
    REQUIRE(std::equal(held.begin(), held.end(),
                       std::as_bytes(std::span{text}).begin() + static_cast<std::ptrdiff_t>(at)));
    if (random() % 3 == 0) {
      kept.push_back(window.share());
      REQUIRE(kept.back()->begin <= at);
      REQUIRE(kept.back()->begin + kept.back()->size() >= at + held.size());
      REQUIRE(window.share() == kept.back());
    }
    if (kept.size() > 5)
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
    REQUIRE(
        std::all_of(kept.begin(), kept.end(), [&](const auto& x) { return is_part_of(*x, text); }));
    at = std::min<std::uint64_t>(at + random() % 200, text.size());
    window.forget_before(at);
  }
}

TEST_CASE("what is read to its place is what the window gives, whoever reads before and after") {
  for (const auto how : {window_reads::in_blocks, window_reads::straight}) {
    test::seeded_random random;
    const auto text = test::random_bytes(random, 50'000);
    byte_window window{"x", std::make_unique<text_stream>(text), 100, blocks(), how};
    std::string into;
    for (std::uint64_t at = 0; at < text.size();) {
      const auto held = window.from(at, random() % 300);
      REQUIRE(std::equal(held.begin(), held.end(),
                         std::as_bytes(std::span{text}).begin() + static_cast<std::ptrdiff_t>(at)));
      at = std::min<std::uint64_t>(at + random() % 200, text.size());
      into.resize(std::min<std::uint64_t>(random() % 900, text.size() - at));
      window.read_into(std::as_writable_bytes(std::span{into}), at);
      REQUIRE(into == text.substr(static_cast<std::size_t>(at), into.size()));
      at += into.size();
    }
    into.resize(1);
    check_error([&] { window.read_into(std::as_writable_bytes(std::span{into}), text.size()); },
                {.code = errc::torn_file, .file = "x", .offset = text.size()});
  }
}

TEST_CASE("threads that are done with shared bytes give the memory back while others read on") {
  std::mt19937 random{7};
  const auto text = test::random_bytes(random, 400'000);
  auto window =
      std::make_unique<byte_window>("x", std::make_unique<text_stream>(text), 1000, blocks());
  std::vector<std::jthread> readers;
  std::atomic<int> wrong{0};
  for (std::uint64_t at = 0; at < text.size(); at += 10'000) {
    window->forget_before(at);
    (void)window->from(at);
    readers.emplace_back([&, held = window->share()] { wrong += is_part_of(*held, text) ? 0 : 1; });
  }
  window.reset(); // what it shared outlives it
  readers.clear();
  REQUIRE(wrong == 0);
}

} // namespace
} // namespace leat::byte_window_test
