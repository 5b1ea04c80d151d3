#include "runtime/pipeline/sentencepiece/piece_normalizer.hpp"

#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <cstring>

namespace leat {

namespace {

/// A text that is written, and how long the one after a space has to wait for more.
class normal_text {
public:
  normal_text(std::string& memory, std::string_view space, bool removes)
      : memory_(memory), space_(space), removes_(removes), after_space_(removes) {}

  /// There is room for this many bytes, each of which may be a space.
  void make_room(std::size_t bytes) {
    const auto needed = size_ + bytes * space_.size();
    if (needed > memory_.size())
      memory_.resize(std::max(needed, 2 * memory_.size()));
  }
  void put_space() {
    std::memcpy(memory_.data() + size_, space_.data(), space_.size());
    size_ += space_.size();
  }
  void put(char c) {
    if (c != ' ') {
      memory_[size_++] = c;
      after_space_ = false;
    } else if (!after_space_) {
      put_space();
      after_space_ = removes_;
    }
  }
  /// A text that stands for one character.
  void put(std::string_view part) {
    while (after_space_ && part.starts_with(' '))
      part.remove_prefix(1);
    if (part.empty())
      return;
    for (const auto c : part)
      c == ' ' ? put_space() : void(memory_[size_++] = c);
    after_space_ = removes_ && part.ends_with(' ');
  }
  void remove_last_spaces() {
    while (text().ends_with(space_))
      size_ -= space_.size();
  }
  std::string_view text() const { return {memory_.data(), size_}; }

private:
  std::string& memory_;
  std::size_t size_ = 0;
  std::string_view space_;
  bool removes_;
  bool after_space_;
};

} // namespace

piece_normalizer::piece_normalizer(const piece_model& model, const piece_trie& defined)
    : defined_(defined), rules_(model.char_map), add_space_(model.add_dummy_prefix),
      space_is_suffix_(model.space_is_suffix), removes_spaces_(model.remove_extra_spaces),
      space_(model.escape_spaces ? visible_space : std::string_view{" "}) {
  for (std::size_t a = 1; a < ascii; ++a)
    for (std::size_t b = 1; b < ascii; ++b) {
      const auto first = defined.next(0, static_cast<char>(a));
      const bool may_be_defined = first != 0
                                  && (defined.id(first) != piece_trie::none
                                      || defined.next(first, static_cast<char>(b)) != 0);
      stays_[a][b] =
          !may_be_defined
          && !rules_.may_replace(static_cast<unsigned char>(a), static_cast<unsigned char>(b));
    }
}

replaced_prefix piece_normalizer::prefix_of(std::string_view text) const {
  if (const auto defined = defined_.longest(text); defined > 0)
    return {text.substr(0, defined), defined};
  if (const auto replaced = rules_.replace(text); replaced.size > 0)
    return replaced;
  const auto size = std::max<std::size_t>(utf8_length(text), 1);
  return {text.substr(0, size), size};
}

std::string_view piece_normalizer::without_first_spaces(std::string_view text) const {
  while (!text.empty()) {
    const auto first = prefix_of(text);
    if (first.text != " ")
      break;
    text.remove_prefix(first.size);
  }
  return text;
}

piece_normalizer::result piece_normalizer::run(std::string_view text, std::string& memory) const {
  if (removes_spaces_)
    text = without_first_spaces(text);
  if (text.empty())
    return {};
  normal_text to{memory, space_, removes_spaces_};
  to.make_room(text.size() + 2);
  if (add_space_ && !space_is_suffix_)
    to.put_space();
  bool is_utf8 = utf8_length(text) > 0; // what was removed may have ended within a character
  const auto* at = text.data();
  const auto* const end = at + text.size();
  while (at != end) {
    for (; end - at > 1 && stays(at[0], at[1]); ++at)
      to.put(*at);
    const std::string_view rest{at, static_cast<std::size_t>(end - at)};
    const auto [part, size] = prefix_of(rest);
    if (part.data() != at) {
      is_utf8 = is_utf8 && has_whole_characters(part)
                && has_whole_characters(rest.substr(0, size)); // else the next part is none
      to.make_room(part.size() + rest.size() + 2);
    }
    to.put(part);
    at += size;
  }
  if (removes_spaces_)
    to.remove_last_spaces();
  if (add_space_ && space_is_suffix_)
    to.put_space();
  return {to.text(), is_utf8};
}

} // namespace leat
