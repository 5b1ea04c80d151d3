#include "runtime/sources/feed/inputs/redis_replies.hpp"

#include "runtime/base/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view redis_line_end = "\r\n";
/// A line of a header has no more; an error or a text may.
constexpr std::size_t longest_redis_line = std::size_t{64} << 10;

class redis_reply_reader {
public:
  explicit redis_reply_reader(std::string_view bytes) : bytes_(bytes) {}

  redis_read read() {
    redis_read x;
    auto reply = one(0);
    x.now = state_;
    if (reply)
      x.reply = std::move(*reply);
    x.size = reply ? at_ : wants_;
    return x;
  }

private:
  using state = redis_read::state;

  std::nullopt_t stop(state now) {
    state_ = now;
    return std::nullopt;
  }

  std::optional<std::string_view> line() {
    const auto rest = bytes_.substr(at_);
    const auto end = rest.substr(0, longest_redis_line).find(redis_line_end);
    if (end == rest.npos) {
      wants_ = bytes_.size() + 1;
      return stop(rest.size() < longest_redis_line ? state::part : state::wrong);
    }
    at_ += end + redis_line_end.size();
    return rest.substr(0, end);
  }

  static std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t x = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (problem != std::errc{} || end != text.data() + text.size())
      return std::nullopt;
    return x;
  }

  std::optional<redis_reply> one(unsigned depth) {
    if (depth > deepest_redis_reply || ++items_ > most_redis_items)
      return stop(state::wrong);
    const auto head = line();
    if (!head)
      return std::nullopt;
    if (head->empty())
      return stop(state::wrong);
    const auto body = head->substr(1);
    if (head->front() == '+')
      return redis_reply{.is = redis_reply::kind::text, .bytes = body};
    if (head->front() == '-')
      return redis_reply{.is = redis_reply::kind::error, .bytes = body};
    const auto number = number_of(body);
    if (!number)
      return stop(state::wrong);
    if (head->front() == ':')
      return redis_reply{.is = redis_reply::kind::number, .number = *number};
    if (*number == -1 && (head->front() == '$' || head->front() == '*'))
      return redis_reply{};
    if (*number < 0)
      return stop(state::wrong);
    if (head->front() == '$')
      return content(static_cast<std::uint64_t>(*number));
    return head->front() == '*' ? list(static_cast<std::uint64_t>(*number), depth)
                                : stop(state::wrong);
  }

  std::optional<redis_reply> content(std::uint64_t size) {
    const auto rest = bytes_.substr(at_);
    if (size > (std::uint64_t{1} << 40))
      return stop(state::wrong);
    if (rest.size() < size + redis_line_end.size()) {
      wants_ = at_ + size + redis_line_end.size();
      return stop(state::part);
    }
    if (rest.substr(size, redis_line_end.size()) != redis_line_end)
      return stop(state::wrong);
    at_ += size + redis_line_end.size();
    return redis_reply{.is = redis_reply::kind::bytes, .bytes = rest.substr(0, size)};
  }

  /// Takes no memory for items that have not come.
  std::optional<redis_reply> list(std::uint64_t size, unsigned depth) {
    redis_reply x{.is = redis_reply::kind::list};
    for (std::uint64_t i = 0; i < size; ++i) {
      auto item = one(depth + 1);
      if (!item)
        return std::nullopt;
      x.items.push_back(std::move(*item));
    }
    return x;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t wants_ = 1;
  std::size_t items_ = 0;
  state state_ = state::whole;
};

} // namespace

const redis_reply* redis_reply::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].is_bytes() && items[i].bytes == name)
      return &items[i + 1];
  return nullptr;
}

redis_read read_redis_reply(std::string_view bytes) {
  return redis_reply_reader{bytes}.read();
}

std::string redis_command(const std::vector<std::string_view>& words) {
  std::string text = "*";
  append_number(text, words.size());
  text += redis_line_end;
  for (const auto& x : words) {
    text += '$';
    append_number(text, x.size());
    text += redis_line_end;
    text += x;
    text += redis_line_end;
  }
  return text;
}

} // namespace leat
