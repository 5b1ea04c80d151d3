#include "runtime/storage/passed_over.hpp"

#include "runtime/base/framed_bytes.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace leat {

namespace {

struct reason_words {
  std::string_view word;
  std::string_view one;
  std::string_view many;
};

/// Indexed by reason.
constexpr std::array<reason_words, 12> words_of_reasons{{
    {"hidden", "hidden entry", "hidden entries"},
    {"hard_link", "hard link", "hard links"},
    {"symbolic_link", "symbolic link", "symbolic links"},
    {"special", "device, pipe or other special entry", "devices, pipes or other special entries"},
    {"nameless", "file without a key or an extension in its name",
     "files without a key or an extension in their names"},
    {"rest", "archive that goes on after its end mark, as `cat a.tar b.tar` makes it",
     "archives that go on after their end marks, as `cat a.tar b.tar` makes them"},
    {"lost_link", "link that leads nowhere", "links that lead nowhere"},
    {"folder_link", "link to a folder", "links to folders"},
    {"folder", "folder among the files", "folders among the files"},
    {"other_ending", "file that is no .jpg, .jpeg, .jfif, .png or .webp",
     "files that are no .jpg, .jpeg, .jfif, .png or .webp"},
    {"outside", "file outside of the class folders", "files outside of the class folders"},
    {"empty_class", "class folder without an image, which has a number all the same",
     "class folders without an image, which have numbers all the same"},
}};

const reason_words& words_for(passed_over_reason why) {
  return words_of_reasons.at(static_cast<std::size_t>(why));
}

/// Removes a number from the front; false if there are too few bytes.
bool take_number(std::string_view& from, std::uint64_t& x) {
  if (from.size() < sizeof x)
    return false;
  x = little_endian_at<std::uint64_t>(from, 0);
  from.remove_prefix(sizeof x);
  return true;
}

} // namespace

passed_over_entry& passed_over::entry(passed_over_reason why) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const passed_over_entry& x) { return x.why >= why; });
  if (at != entries_.end() && at->why == why)
    return *at;
  return *entries_.insert(at, {.why = why});
}

void passed_over::add(passed_over_reason why, std::string name) {
  auto& x = entry(why);
  if (x.count++ == 0)
    x.first = std::move(name);
}

void passed_over::add_by_name(passed_over_reason why, std::string name) {
  auto& x = entry(why);
  if (x.count++ == 0 || name < x.first)
    x.first = std::move(name);
}

void passed_over::add(const passed_over& part, const std::string& prefix) {
  for (const auto& x : part.entries_) {
    auto& own = entry(x.why);
    if (own.count == 0)
      own.first = prefix + x.first;
    own.count += x.count;
  }
}

std::string passed_over::notice_text() const {
  std::string text;
  for (const auto& x : entries_)
    if (x.why != passed_over_reason::hidden)
      text += (text.empty() ? "passed over " : ", ") + std::to_string(x.count) + " "
              + name_of(x.why, x.count) + " (" + x.first + (x.count > 1 ? ", ..." : "") + ")";
  return text;
}

std::string passed_over::encoded() const {
  std::string bytes;
  for (const auto& x : entries_) {
    append_little_endian<std::uint64_t>(bytes, static_cast<std::uint64_t>(x.why));
    append_little_endian<std::uint64_t>(bytes, x.count);
    append_little_endian<std::uint64_t>(bytes, x.first.size());
    bytes += x.first;
  }
  return bytes;
}

std::optional<passed_over> passed_over::decoded(std::string_view bytes) {
  passed_over x;
  while (!bytes.empty()) {
    std::uint64_t why = 0;
    std::uint64_t count = 0;
    std::uint64_t size = 0;
    if (!take_number(bytes, why) || !take_number(bytes, count) || !take_number(bytes, size)
        || why >= words_of_reasons.size() || size > bytes.size())
      return {};
    auto& entry = x.entry(static_cast<passed_over_reason>(why));
    entry.count = count;
    entry.first = bytes.substr(0, static_cast<std::size_t>(size));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return x;
}

std::string_view word_of(passed_over_reason why) {
  return words_for(why).word;
}

std::string name_of(passed_over_reason why, std::uint64_t count) {
  return std::string{count == 1 ? words_for(why).one : words_for(why).many};
}

void tell(const passed_over& x) {
  if (const auto text = x.notice_text(); !text.empty())
    notice(text);
}

} // namespace leat
