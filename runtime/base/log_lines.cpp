#include "runtime/base/log_lines.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <string_view>

namespace leat {

namespace {

/// Appends a quoted text. Most texts need no escapes, and up to about a million rows per second are
/// logged, so those are copied as they are.
void append_text(std::string& to, std::string_view text) {
  auto plain = [](unsigned char x) { return x >= ' ' && x < 0x7f && x != '"' && x != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain))
    to.append("\"").append(text).append("\"");
  else
    to.append("\"").append(json_escaped(text)).append("\"");
}

void append_name(std::string& to, const char* name) {
  to += to == "{" ? "\"" : ", \"";
  to.append(name).append("\": ");
}

void append_entry(std::string& to, const char* name, std::uint64_t value) {
  append_name(to, name);
  to += std::to_string(value);
}

template <class Values, class Append>
void append_list(std::string& to, const char* name, const Values& values, Append append) {
  append_name(to, name);
  to += '[';
  for (const auto& x : values) {
    if (to.back() != '[')
      to += ',';
    append(x);
  }
  to += ']';
}

} // namespace

std::string to_json(const attempt_start& x) {
  std::string text = "{";
  append_name(text, "leat");
  append_text(text, x.program);
  append_name(text, "version");
  append_text(text, LEAT_VERSION);
  append_entry(text, "world_size", x.world_size);
  append_name(text, "rank");
  text += x.rank ? std::to_string(*x.rank) : "null";
  append_name(text, "resumed_at");
  text += !x.resumed_at ? "null"
                        : "{\"epoch\": " + std::to_string(x.resumed_at->epoch)
                              + ", \"step\": " + std::to_string(x.resumed_at->step) + "}";
  if (x.continues) {
    append_name(text, "continues");
    text += "true";
  }
  if (x.term)
    append_entry(text, "term", *x.term);
  append_entry(text, "records", x.records);
  append_name(text, "data_digest");
  append_text(text, to_string(x.data_digest));
  return text + "}";
}

std::string to_json(const batch_line& x) {
  std::string text = "{";
  auto append_hash = [&](const hash128& hash) { append_text(text, to_string(hash)); };
  append_entry(text, "epoch", x.epoch);
  append_entry(text, "step", x.step);
  if (x.rank)
    append_entry(text, "rank", *x.rank);
  append_entry(text, "world_size", x.world_size);
  append_list(text, "positions", x.positions, [&](auto p) { text += std::to_string(p); });
  append_list(text, "ids", x.ids, [&](const auto& id) { append_text(text, id); });
  append_name(text, "digest");
  append_hash(x.digest);
  if (x.rank)
    append_list(text, "pixels", x.pixels, append_hash);
  if (!x.bad.empty())
    append_list(text, "bad", x.bad, [&](const logged_bad& row) {
      text += "[" + std::to_string(row.position) + ",";
      append_text(text, row.id);
      text += ",";
      append_text(text, row.cause);
      text += ",";
      if (row.substitute)
        append_text(text, *row.substitute);
      else
        text += "null";
      text += "]";
    });
  return text + "}";
}

} // namespace leat
