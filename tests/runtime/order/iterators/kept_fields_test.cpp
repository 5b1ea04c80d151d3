#include "runtime/order/iterators/kept_fields.hpp"
#include "tests/support/test.hpp"

namespace leat::kept_fields_test {
namespace {

using kept_ptr = std::shared_ptr<const kept_field>;

/// Texts of all sizes: empty, several in a block, or in a block of their own.
std::string text_of(std::mt19937& random) {
  constexpr std::size_t most[] = {1, 100, 4000, 40'000};
  std::string text(random() % most[random() % std::size(most)], 0);
  for (auto& x : text)
    x = static_cast<char>(random());
  return text;
}

std::string text_of(const kept_field& x) {
  return {reinterpret_cast<const char*>(x.content.bytes.data()), x.content.bytes.size()};
}

} // namespace

TEST_CASE(
    "kept_fields: a field is kept as it was, while those kept before and after it come and go") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  struct expected {
    kept_ptr kept;
    std::string text;
    std::uint64_t key;
    input_counts given;
  };
  std::vector<expected> held;
  kept_fields fields;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    sample x;
    const auto text = text_of(random);
    x.set("text", text);
    x.set("other", std::string_view{"no part of it"});
    input_counts given(random() % 4);
    for (auto& one : given)
      one = {random(), random()};
    held.push_back({fields.keep(x, "text", i, given), text, i, given});
    const auto& kept = *held.back().kept;
    CHECK(reinterpret_cast<std::uintptr_t>(kept.content.bytes.data()) % alignof(std::max_align_t)
          == 0);
    if (held.size() > 200) { // dropped in random order, so some stay for long
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
    }
    if (i % 100 == 0)
      for (const auto& one : held) {
        REQUIRE(text_of(*one.kept) == one.text);
        REQUIRE(one.kept->sample_key == one.key);
        REQUIRE(std::equal(one.kept->given.begin(), one.kept->given.end(), one.given.begin(),
                           one.given.end()));
      }
  }
}

TEST_CASE("kept_fields: what is lent from one has the type and shape of the field that was kept") {
  sample x;
  x.set("text", std::string_view{"bytes"});
  auto* const tokens = x.make<std::int32_t>("tokens", shape{3}).data();
  std::fill_n(tokens, 3, 7);
  x.set_ragged("ragged", std::vector<std::int64_t>{1, 2});
  kept_fields fields;
  const auto kept = [&](const char* name) { return fields.keep(x, name, 0, {}); };
  const auto text = kept("text");
  const auto dense = kept("tokens");
  const auto ragged = kept("ragged");
  CHECK_THROWS_AS(kept("none"), bad_sample);
  std::fill_n(tokens, 3, 0); // it is a copy

  sample into;
  sample_access::lend("text", text->content, into);
  sample_access::lend("tokens", dense->content, into);
  sample_access::lend("ragged", ragged->content, into);
  for (const auto* name : {"text", "tokens", "ragged"})
    CHECK(sample_access::layout_of(into, name) == sample_access::layout_of(x, name));
  CHECK(into.text("text") == "bytes");
  const std::vector<std::int32_t> sevens(3, 7);
  CHECK(std::ranges::equal(into.bytes("tokens"), std::as_bytes(std::span{sevens})));
  CHECK(std::ranges::equal(into.bytes("ragged"), x.bytes("ragged")));
}

TEST_CASE("kept_fields: memory that nobody has any more is used again") {
  kept_fields fields;
  sample x;
  x.set("text", std::string(1000, 'x'));
  std::vector<const void*> places;
  std::deque<kept_ptr> held;
  for (int i = 0; i < 2000; ++i) {
    held.push_back(fields.keep(x, "text", 0, {}));
    places.push_back(held.back().get());
    if (held.size() > 40)
      held.pop_front();
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  CHECK(places.size() < 200);
}

TEST_CASE("kept_fields: other threads read them and drop them, also after their maker is gone") {
  std::vector<kept_ptr> all;
  {
    kept_fields fields;
    for (int i = 0; i < 400; ++i) {
      sample x;
      x.set("text", std::string(static_cast<std::size_t>(i) * 37 % 3000, static_cast<char>(i)));
      all.push_back(fields.keep(x, "text", static_cast<std::uint64_t>(i), {}));
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (std::size_t t = 0; t < 3; ++t)
      readers.emplace_back([&, t] {
        for (std::size_t i = t; i < 300; i += 3) {
          const auto mine = std::exchange(all[i], nullptr);
          const auto text = text_of(*mine);
          if (text != std::string(i * 37 % 3000, static_cast<char>(i)))
            ++wrong;
        }
      });
    for (int i = 0; i < 400; ++i) { // meanwhile, in memory that they give back
      sample x;
      x.set("text", std::string(500, 'y'));
      fields.keep(x, "text", 0, {});
    }
    for (auto& x : readers)
      x.join();
    CHECK(wrong == 0);
  }
  for (std::size_t i = 300; i < all.size(); ++i)
    CHECK(text_of(*all[i]) == std::string(i * 37 % 3000, static_cast<char>(i)));
}

} // namespace leat::kept_fields_test
