#include "runtime/sample/item.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace leat::item_test {
namespace {

std::uint64_t read_back(std::uint64_t x) {
  item in;
  in.add(x);
  item_reader from{in};
  const auto found = from.number();
  CHECK(from.at_end());
  return found;
}

class content final : public payload {};

} // namespace

TEST_CASE("numbers of all sizes are read as they were added") {
  for (unsigned bit = 0; bit < 64; ++bit)
    for (const auto x :
         {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit, (std::uint64_t{1} << bit) + 1})
      CHECK(read_back(x) == x);
  CHECK(read_back(std::numeric_limits<std::uint64_t>::max())
        == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("bytes that are no number are refused") {
  const std::vector<std::string> bad{"", "\x80", std::string(9, '\xFF') + '\x02',
                                     std::string(10, '\xFF') + '\x01'};
  for (const auto& bytes : bad)
    CHECK(code_of([&] { item_reader{std::string_view{bytes}}.number(); }) == errc::bad_snapshot);
}

TEST_CASE("what is dropped of an item's content, and what stays") {
  const auto made = [] {
    item x;
    x.add(std::uint64_t{7});
    x.attach(0, payload_of_source, std::make_shared<content>());
    const auto begin = x.size();
    x.add(std::uint64_t{8});
    x.attach(begin, payload_around, std::make_shared<content>());
    return x;
  };
  const auto has = [](const item& x, std::uint32_t owner) {
    item_reader from{x};
    if (owner == payload_around)
      from.number();
    return from.find_payload(owner) != nullptr;
  };
  auto x = made();
  CHECK((has(x, payload_of_source) && has(x, payload_around)));
  x.drop_surroundings();
  CHECK((has(x, payload_of_source) && !has(x, payload_around)));
  x = made();
  x.drop_payloads();
  CHECK((has(x, payload_of_source) && !has(x, payload_around)));
  x = made();
  x.attach(0, 3, std::make_shared<content>()); // a sample that was made from all of it
  CHECK((has(x, 3) && !has(x, payload_of_source) && !has(x, payload_around)));
  x.drop_surroundings();
  CHECK(has(x, 3));
  x.drop_payloads();
  CHECK_FALSE(has(x, 3));
  CHECK(x == made());
}

TEST_CASE("items of many parts, as packs are: the content of each is found without a search") {
  constexpr std::uint64_t parts = 300'000;
  std::vector<payload_ptr> contents;
  item x;
  for (std::uint64_t i = 0; i < parts; ++i) {
    contents.push_back(std::make_shared<content>());
    item one;
    one.add(i);
    one.attach(0, 1, contents.back());
    x.append(std::move(one));
    x.attach(x.size(), 1, nullptr);
  }
  x.attach_restored(0, 1, contents[7]);
  std::uint64_t wrong = 0;
  item_reader from{x};
  CHECK(from.find_payload(payload_of_source) == contents[7]);
  for (std::uint64_t i = 0; i < parts; ++i) {
    wrong += from.find_payload(1) == contents[i] && !from.find_payload(2) ? 0 : 1;
    if (i % 2 == 0)
      wrong += from.take_payload(1) == contents[i] ? 0 : 1;
    else
      wrong += from.number() == i ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(from.at_end());
}

} // namespace leat::item_test
