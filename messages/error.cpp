#include <leat/error.hpp>

#include <string_view>
#include <utility>

namespace leat {

namespace {

/// Names, and contents that a text quotes, may hold any bytes. Control characters, which a terminal
/// would act on, become `\xHH`.
void append_bytes(std::string& to, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char x : text)
    if (const auto byte = static_cast<unsigned char>(x); byte >= ' ' && byte != 0x7F)
      to += x;
    else
      to.append("\\x").append({digits[byte / 16], digits[byte % 16]});
}

bool begins_character(char x) {
  return (static_cast<unsigned char>(x) & 0xC0) != 0x80;
}

/// Shows a text that nobody would read to its end, such as a name of a megabyte, without its
/// middle; `details` has all of it. The cuts are at boundaries of UTF-8 characters.
void append_shown(std::string& to, std::string_view text) {
  constexpr std::size_t most = 2000;
  constexpr std::size_t part = most / 2 - 50;
  if (text.size() <= most)
    return append_bytes(to, text);
  auto head = part;
  while (head > part - 4 && !begins_character(text[head]))
    --head;
  auto tail = text.size() - part;
  while (tail < text.size() - part + 4 && !begins_character(text[tail]))
    ++tail;
  append_bytes(to, text.substr(0, head));
  to += " ... (" + std::to_string(tail - head) + " more bytes) ... ";
  append_bytes(to, text.substr(tail));
}

std::string text_of(errc code, const error_details& x) {
  std::string text{to_string(code)};
  const char* gap = ": ";
  auto add = [&](const char* name, const std::string& value) {
    if (value.empty())
      return;
    text.append(std::exchange(gap, ", ")).append(name);
    append_shown(text, value);
  };
  add("", x.stage);
  add("sample ", x.sample);
  add("file ", x.file);
  if (x.offset)
    add("offset ", std::to_string(*x.offset));
  add("got ", x.got);
  add("needed ", x.needed);
  for (const auto& entry : x.list)
    append_shown(text.append("\n  "), entry);
  return text;
}

} // namespace

std::string_view to_string(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument:
    return "invalid argument";
  case errc::not_found:
    return "not found";
  case errc::io:
    return "input/output";
  case errc::torn_file:
    return "torn file";
  case errc::bad_snapshot:
    return "bad snapshot";
  case errc::mismatch:
    return "mismatch";
  case errc::bad_sample:
    return "bad sample";
  case errc::wrong_field:
    return "wrong field";
  case errc::leases_exhausted:
    return "leases exhausted";
  case errc::worker_lost:
    return "worker lost";
  case errc::stuck:
    return "stuck";
  case errc::empty_epoch:
    return "empty epoch";
  case errc::no_resources:
    return "no resources";
  case errc::interrupted:
    return "interrupted";
  case errc::shut_down:
    return "shut down";
  case errc::forked:
    return "forked";
  case errc::regrouped:
    return "regrouped";
  case errc::cluster:
    return "cluster";
  case errc::device:
    return "device";
  }
  return "unknown error";
}

error::error(errc code, error_details details)
    : std::runtime_error(text_of(code, details)), code_(code), details_(std::move(details)) {}

} // namespace leat
