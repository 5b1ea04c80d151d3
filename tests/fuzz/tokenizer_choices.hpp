#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat::fuzz {

/// A fuzzer's bytes as choices: zeros once they are used up.
class choices {
public:
  explicit choices(std::string_view bytes) : left_(bytes) {}

  std::size_t below(std::size_t n) {
    if (left_.empty())
      return 0;
    const auto x = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return x % n;
  }
  bool flag() { return below(2) == 1; }
  bool are_left() const { return !left_.empty(); }
  std::string_view take(std::size_t most) {
    const auto taken = left_.substr(0, most);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return take(left_.size()); }

private:
  std::string_view left_;
};

struct made_file {
  std::string file;
  /// Its tokens have all bytes of a text.
  bool keeps_bytes = false;
};

/// A tokenizer.json of any kind that leat knows, nearly always a valid one.
made_file made_tokenizer(choices& of);

/// A text of UTF-8 that has what these tokenizers have tokens for, among other things.
std::string made_text(choices& of);

} // namespace leat::fuzz
