#include "runtime/sources/feed/inputs/nats_messages.hpp"

#include "runtime/base/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace leat {

namespace {

constexpr std::string_view nats_line_end = "\r\n";
/// INFO has the longest one: it lists the servers of a cluster.
constexpr std::size_t longest_nats_line = std::size_t{256} << 10;

std::optional<std::uint64_t> nats_number_of(std::string_view text) {
  std::uint64_t x = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return x;
}

/// The words of a line; more than `most` count as one more than that.
template <std::size_t most>
struct nats_words {
  std::array<std::string_view, most> words = {};
  std::size_t size = 0;

  nats_words(std::string_view text, std::string_view between) {
    while (size <= most) {
      const auto begin = text.find_first_not_of(between);
      if (begin == text.npos)
        return;
      text.remove_prefix(begin);
      const auto end = std::min(text.find_first_of(between), text.size());
      if (size < most)
        words[size] = text.substr(0, end);
      ++size;
      text.remove_prefix(end);
    }
  }
};

/// "MSG subject sid [reply] size", "HMSG subject sid [reply] header-size size"
nats_read nats_content(std::string_view line, std::size_t line_bytes, bool has_header,
                       std::string_view bytes) {
  constexpr std::size_t most_words = 5;
  const nats_read wrong{.now = nats_read::state::wrong};
  const nats_words<most_words> all{line, " \t"};
  const std::size_t least = has_header ? 4 : 3;
  if (all.size != least && all.size != least + 1)
    return wrong;
  const auto size = nats_number_of(all.words[all.size - 1]);
  const auto header = has_header ? nats_number_of(all.words[all.size - 2]) : 0;
  if (!size || !header || *size > most_nats_bytes || *header > *size)
    return wrong;
  const auto end = line_bytes + *size + nats_line_end.size();
  if (bytes.size() < end)
    return {.now = nats_read::state::part, .size = end};
  if (bytes.substr(line_bytes + *size, nats_line_end.size()) != nats_line_end)
    return wrong;
  return {.now = nats_read::state::whole,
          .message = {.is = nats_message::kind::message,
                      .subject = all.words[0],
                      .reply = all.size == least ? std::string_view{} : all.words[2],
                      .header = bytes.substr(line_bytes, *header),
                      .payload = bytes.substr(line_bytes + *header, *size - *header)},
          .size = end};
}

} // namespace

unsigned nats_message::status() const noexcept {
  constexpr std::string_view begin = "NATS/1.0 ";
  constexpr std::size_t digits = 3;
  if (!header.starts_with(begin))
    return 0;
  return static_cast<unsigned>(nats_number_of(header.substr(begin.size(), digits)).value_or(0));
}

nats_read read_nats_message(std::string_view bytes) {
  const auto end = bytes.substr(0, longest_nats_line).find(nats_line_end);
  if (end == bytes.npos)
    return {.now =
                bytes.size() < longest_nats_line ? nats_read::state::part : nats_read::state::wrong,
            .size = bytes.size() + 1};
  const auto line = bytes.substr(0, end);
  const auto size = end + nats_line_end.size();
  const auto space = std::min(line.find_first_of(" \t"), line.size());
  const auto word = line.substr(0, space);
  auto rest = line.substr(std::min(space + 1, line.size()));
  if (word == "MSG" || word == "HMSG")
    return nats_content(rest, size, word == "HMSG", bytes);
  const auto is = [&](nats_message::kind kind) {
    return nats_read{
        .now = nats_read::state::whole, .message = {.is = kind, .payload = rest}, .size = size};
  };
  if (word == "INFO")
    return is(nats_message::kind::info);
  if (word == "PING")
    return is(nats_message::kind::ping);
  if (word == "PONG")
    return is(nats_message::kind::pong);
  if (word == "+OK")
    return is(nats_message::kind::ok);
  if (word == "-ERR")
    return is(nats_message::kind::error);
  return {.now = nats_read::state::wrong};
}

std::string nats_publication(std::string_view subject, std::string_view reply,
                             std::string_view payload) {
  std::string text = "PUB ";
  text += subject;
  text += ' ';
  if (!reply.empty())
    (text += reply) += ' ';
  append_number(text, payload.size());
  text += nats_line_end;
  text += payload;
  text += nats_line_end;
  return text;
}

std::optional<nats_delivery> nats_delivery_of(std::string_view reply) {
  constexpr std::size_t short_form = 9;
  constexpr std::size_t most_words = 12;
  const nats_words<most_words> all{reply, "."};
  // With a domain there are two words more before the stream, and there may be one more at the end.
  const std::size_t times = all.size == short_form ? 4 : 6;
  if (all.size < short_form || all.size == short_form + 1 || all.size > most_words
      || all.words[0] != "$JS" || all.words[1] != "ACK")
    return std::nullopt;
  const auto n = nats_number_of(all.words[times]);
  const auto sequence = nats_number_of(all.words[times + 1]);
  const auto in_consumer = nats_number_of(all.words[times + 2]);
  if (!n || !sequence || !in_consumer)
    return std::nullopt;
  return nats_delivery{.sequence = *sequence, .in_consumer = *in_consumer, .times = *n};
}

} // namespace leat
