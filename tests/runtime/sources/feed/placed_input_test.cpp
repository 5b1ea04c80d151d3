#include "runtime/sources/feed/placed_input.hpp"
#include "runtime/sources/live/memory_records.hpp"
#include "tests/support/test.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::placed_input_test {
namespace {

/// What a queue has heard.
struct queue_book {
  std::vector<std::string> begun_after = {};
  std::vector<std::string> acknowledged = {};
};

/// Entries "0", "1", ... with the contents "a0", "a1", ..., two at a time, up to "5".
class numbers_queue : public feed_input {
public:
  explicit numbers_queue(queue_book& book) : book_(book) {}

  const std::string& name() const override { return name_; }
  feed_format format() const override { return feed_format::lines; }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

private:
  class reader;
  queue_book& book_;
  const std::string name_ = "numbers";
};

class numbers_queue::reader : public feed_reader {
public:
  reader(queue_book& book, int next) : book_(book), next_(next) {}

  bool take(const std::function<void(const placed_record&)>& add) override {
    for (int i = 0; i < 2 && next_ < 6; ++i, ++next_) {
      const auto place = std::to_string(next_);
      add({.place = place, .content = "a" + place});
    }
    return next_ < 6;
  }
  bool acknowledge(std::span<const std::string> places) override {
    book_.acknowledged.insert(book_.acknowledged.end(), places.begin(), places.end());
    return true;
  }
  void interrupt() noexcept override {}

private:
  queue_book& book_;
  int next_;
};

std::unique_ptr<feed_reader> numbers_queue::begin(const std::string& last) {
  book_.begun_after.push_back(last);
  return std::make_unique<reader>(book_, last.empty() ? 0 : std::stoi(last) + 1);
}

std::string content_at(const memory_records& from, std::uint64_t number, bool place = false) {
  sample holds;
  const auto bytes = from.read(number, holds);
  const auto found = split_placed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  REQUIRE(found);
  return std::string{place ? found->place : found->content};
}

TEST_CASE("placed_input: a place and a content are told apart again, whatever bytes they have") {
  for (const std::string place : {"", "x", "1526919030474-55"})
    for (const std::string& content :
         {std::string{}, std::string{"line"}, std::string(70000, '\0')}) {
      const auto bytes = join_placed({.place = place, .content = content});
      const auto found = split_placed(bytes);
      REQUIRE(found);
      CHECK(found->place == place);
      CHECK(found->content == content);
    }
  CHECK_FALSE(split_placed(""));
  CHECK_FALSE(split_placed("x"));
  CHECK_FALSE(split_placed(std::string("\2\0x", 3)));
  CHECK_FALSE(split_placed(std::string("\xff\xff", 2) + std::string(70000, 'x')));
}

TEST_CASE("placed_input: an input begins at the origin's beginning, or after the last record that "
          "is kept") {
  queue_book book;
  memory_records kept;
  {
    placed_input input{std::make_shared<numbers_queue>(book)};
    const auto reader = input.begin();
    CHECK(code_of([&] { input.begin(); }) == errc::invalid_argument);
    const auto got = reader->take(kept);
    CHECK(got.now == record_reader::state::going_on);
    CHECK(got.bytes == 4);
  }
  placed_input input{std::make_shared<numbers_queue>(book)};
  const auto reader = input.begin();
  CHECK_FALSE(input.acknowledge(std::vector<std::string>{"0"})); // the origin is not open yet
  CHECK(reader->take(kept).now == record_reader::state::going_on);
  CHECK(reader->take(kept).now == record_reader::state::ended);
  CHECK(book.begun_after == std::vector<std::string>{"", "1"});
  REQUIRE(kept.next() == 6);
  for (std::uint64_t i = 0; i < 6; ++i) {
    CHECK(content_at(kept, i) == "a" + std::to_string(i));
    CHECK(content_at(kept, i, true) == std::to_string(i));
  }
  CHECK(input.acknowledge(std::vector<std::string>{"0", "1"}));
  CHECK(book.acknowledged == std::vector<std::string>{"0", "1"});
}

TEST_CASE(
    "placed_input: an input that is interrupted has not ended, and one without places is refused") {
  queue_book book;
  placed_input input{std::make_shared<numbers_queue>(book)};
  {
    memory_records kept;
    const auto reader = input.begin();
    reader->interrupt();
    CHECK(reader->take(kept).now == record_reader::state::interrupted);
    CHECK(kept.next() == 0);
  }
  memory_records others;
  others.append("x");
  CHECK(code_of([&] { input.begin()->take(others); }) == errc::mismatch);
}

} // namespace
} // namespace leat::placed_input_test
