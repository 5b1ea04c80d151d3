#include "runtime/storage/passed_over.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace leat::passed_over_test {

namespace {

using why = passed_over_reason;

passed_over some() {
  passed_over x;
  x.add(why::folder_link, "b");
  x.add(why::hard_link, "z.jpg");
  x.add(why::folder_link, "a");
  x.add(why::hidden, ".x");
  return x;
}

} // namespace

TEST_CASE("entries are counted by reason, and the first of each is named") {
  const std::vector<passed_over_entry> want{
      {why::hidden, 1, ".x"}, {why::hard_link, 1, "z.jpg"}, {why::folder_link, 2, "b"}};
  CHECK(some().entries() == want);
  passed_over by_name;
  for (const auto* name : {"b", "a", "c"})
    by_name.add_by_name(why::lost_link, name);
  CHECK(by_name.entries() == std::vector<passed_over_entry>{{why::lost_link, 3, "a"}});
}

TEST_CASE("the counts of parts add up, and the first part's first entry is named") {
  passed_over all;
  all.add(passed_over{}, "0: ");
  all.add(some(), "1: ");
  all.add(some(), "2: ");
  const std::vector<passed_over_entry> want{
      {why::hidden, 2, "1: .x"}, {why::hard_link, 2, "1: z.jpg"}, {why::folder_link, 4, "1: b"}};
  CHECK(all.entries() == want);
}

TEST_CASE("a notice has number, reason and first name, and is silent about hidden entries") {
  CHECK(some().notice_text() == "passed over 1 hard link (z.jpg), 2 links to folders (b, ...)");
  passed_over hidden;
  hidden.add(why::hidden, ".x");
  CHECK(hidden.notice_text().empty());
  CHECK(passed_over{}.notice_text().empty());
}

TEST_CASE("every reason has a word and names of its own") {
  std::vector<std::string> seen;
  for (int i = 0; i <= static_cast<int>(why::empty_class); ++i) {
    const auto x = static_cast<why>(i);
    for (const auto& text : {std::string{word_of(x)}, name_of(x, 1), name_of(x, 2)}) {
      CHECK(!text.empty());
      CHECK(std::count(seen.begin(), seen.end(), text) == 0);
      seen.push_back(text);
    }
  }
}

TEST_CASE("what was encoded comes back, and other bytes do no harm") {
  CHECK(passed_over::decoded(some().encoded()) == some());
  CHECK(passed_over::decoded("") == passed_over{});
  const auto bytes = some().encoded();
  for (std::size_t cut = 1; cut < bytes.size(); ++cut)
    if (const auto x = passed_over::decoded(std::string_view{bytes}.substr(0, cut)))
      CHECK(x->entries().size() < some().entries().size());
  std::mt19937 random{5};
  for (int i = 0; i < 2000; ++i) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto x = passed_over::decoded(damaged))
      for (const auto& entry : x->entries())
        CHECK(!name_of(entry.why, entry.count).empty());
  }
}

} // namespace leat::passed_over_test
