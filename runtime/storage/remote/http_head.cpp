#include "runtime/storage/remote/http_head.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t longest_kept = 1024;

/// `lower` is in lower case.
bool is_header(std::string_view name, std::string_view lower) {
  return std::equal(name.begin(), name.end(), lower.begin(), lower.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
  });
}

/// A whole number, and nothing else.
std::optional<std::uint64_t> whole_number(std::string_view x) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(x.data(), x.data() + x.size(), value);
  if (x.empty() || failure != std::errc{} || end != x.data() + x.size())
    return {};
  return value;
}

void take_range(std::string_view value, http_head& to) {
  const auto slash = value.find('/');
  constexpr std::string_view unit = "bytes ";
  if (!is_header(value.substr(0, unit.size()), unit) || slash == std::string_view::npos) {
    to.is_damaged = true;
    return;
  }
  const auto range = trimmed(value.substr(unit.size(), slash - unit.size()));
  const auto total = trimmed(value.substr(slash + 1));
  to.total = whole_number(total);
  to.range.reset();
  to.is_damaged = to.is_damaged || (!to.total && total != "*");
  if (range == "*")
    return;
  const auto dash = range.find('-');
  const auto first = whole_number(range.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? std::nullopt : whole_number(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last == std::numeric_limits<std::uint64_t>::max())
    to.is_damaged = true;
  else
    to.range = byte_range{*first, *last + 1};
}

bool is_strong_etag(std::string_view x) {
  return x.size() > 2 && x.front() == '"' && x.back() == '"';
}

std::string text_of(const byte_range& x) {
  return "bytes " + std::to_string(x.begin) + " to " + std::to_string(x.end - 1);
}

/// Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate).
std::optional<std::int64_t> seconds_of(std::string_view date) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::string_view form = "***, ** *** **** **:**:** GMT";
  if (date.size() != form.size()
      || !std::equal(date.begin(), date.end(), form.begin(),
                     [](char x, char want) { return want == '*' || x == want; }))
    return {};
  const auto month = months.find(date.substr(8, 3));
  const auto day = whole_number(date.substr(5, 2));
  const auto year = whole_number(date.substr(12, 4));
  const auto hour = whole_number(date.substr(17, 2));
  const auto minute = whole_number(date.substr(20, 2));
  const auto second = whole_number(date.substr(23, 2));
  if (month == std::string_view::npos || month % 3 != 0 || !day || !year || !hour || !minute
      || !second)
    return {};
  const std::chrono::year_month_day on{std::chrono::year{static_cast<int>(*year)},
                                       std::chrono::month{static_cast<unsigned>(month / 3 + 1)},
                                       std::chrono::day{static_cast<unsigned>(*day)}};
  if (!on.ok())
    return {};
  const auto days = std::chrono::sys_days{on}.time_since_epoch().count();
  return std::int64_t{days} * 86'400
         + static_cast<std::int64_t>(*hour * 3600 + *minute * 60 + *second);
}

std::string version_text(const object_pin& x) {
  return std::to_string(x.size) + " bytes"
         + (x.is == object_pin::kind::etag            ? ", ETag " + x.validator
            : x.is == object_pin::kind::last_modified ? ", written " + x.validator
            : x.is == object_pin::kind::generation    ? ", generation " + x.validator
                                                      : "");
}

http_verdict changed(std::string got, const object_pin& pin) {
  return {.is = http_verdict::kind::changed,
          .got = std::move(got),
          .needed = pin.is_told ? "the version that the manifest has (" + version_text(pin)
                                      + "): the object has been replaced since; make the manifest "
                                        "again (leat index --out)"
                                : "the version that was read first (" + version_text(pin)
                                      + "): the object has been replaced since"};
}

http_verdict wrong(std::string got, const byte_range& asked) {
  return {.is = http_verdict::kind::wrong, .got = std::move(got), .needed = text_of(asked)};
}

/// Two versions, by something that is known of both, if there is that.
struct two_versions {
  object_pin now;
  object_pin known;

  /// Nothing that only one of them has counts.
  bool differ() const {
    return now.size != known.size || (now.is == known.is && now.validator != known.validator);
  }
};

two_versions versions_of(const http_head& head, std::uint64_t size, const object_pin& known) {
  using kind = object_pin::kind;
  if (auto same = head.validator(known.is); !same.empty())
    return {{size, known.is, std::move(same)}, known};
  if (!known.written.empty() && !head.last_modified.empty())
    return {{size, kind::last_modified, head.last_modified},
            {known.size, kind::last_modified, known.written, known.is_told}};
  return {head.pin(size), known};
}

/// A successful response that has this part of an object of this size.
http_verdict judge_part(const http_head& head, const byte_range& part, std::uint64_t total,
                        const byte_range& asked, const std::optional<object_pin>& pin) {
  auto now = head.pin(total);
  if (pin)
    if (const auto both = versions_of(head, total, *pin); both.differ())
      return changed(version_text(both.now), both.known);
  if (!head.content_encoding.empty() && head.content_encoding != "identity")
    return {.is = http_verdict::kind::refused,
            .got = "an object that its server sends with Content-Encoding " + head.content_encoding,
            .needed = "its bytes as they are stored: ranges of others mean nothing"};
  const auto end = std::min(asked.end, total);
  if (part != byte_range{asked.begin, end})
    return wrong(text_of(part) + " of " + std::to_string(total), {asked.begin, end});
  if (head.content_length && *head.content_length != part.size())
    return wrong("a body of " + std::to_string(*head.content_length) + " bytes, by its header",
                 part);
  if (pin && now.is == object_pin::kind::none)
    now = *pin;
  return {.is = http_verdict::kind::good, .range = part, .pin = std::move(now)};
}

http_verdict judge_whole(const http_head& head, const byte_range& asked,
                         const std::optional<object_pin>& pin) {
  if (!head.content_length)
    return wrong("all of the object, and not how long it is", asked);
  const auto size = *head.content_length;
  if (pin)
    if (const auto both = versions_of(head, size, *pin); both.differ())
      return changed(version_text(both.now), both.known);
  if (size == 0)
    return {.is = http_verdict::kind::beyond, .pin = head.pin(0)};
  if (asked.begin == 0 && asked.end >= size)
    return judge_part(head, {0, size}, size, asked, pin);
  return wrong("all " + std::to_string(size) + " bytes of the object: the server ignores ranges",
               asked);
}

} // namespace

object_pin::kind kind_of_validator(std::string_view x) noexcept {
  using kind = object_pin::kind;
  if (x.empty())
    return kind::none;
  if (is_strong_etag(x))
    return kind::etag;
  return std::all_of(x.begin(), x.end(), is_digit) ? kind::generation : kind::last_modified;
}

bool is_busy_status(int status) noexcept {
  constexpr std::array busy{408, 425, 429, 500, 502, 503, 504};
  return std::find(busy.begin(), busy.end(), status) != busy.end();
}

std::string service_code(std::string_view body) {
  constexpr std::string_view opening = "<Code>";
  constexpr std::size_t longest = 64;
  const auto begin = body.find(opening);
  const auto end = body.find("</Code>");
  if (begin == std::string_view::npos || end == std::string_view::npos
      || end < begin + opening.size() || end - begin > opening.size() + longest)
    return {};
  return as_utf8(body.substr(begin + opening.size(), end - begin - opening.size()));
}

void http_head::add_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    const auto rest = trimmed(line.substr(std::min(line.find(' '), line.size())));
    const auto number = whole_number(rest.substr(0, std::min(rest.find(' '), rest.size())));
    *this = {};
    status = number && *number < 1000 ? static_cast<int>(*number) : 0;
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos)
    return;
  const auto name = line.substr(0, colon);
  const auto value = trimmed(line.substr(colon + 1));
  const auto keep = [&](std::string& to) { to = value.substr(0, longest_kept); };
  if (is_header(name, "content-length")) {
    const auto length = whole_number(value);
    is_damaged = is_damaged || !length || (content_length && content_length != length);
    content_length = length;
  } else if (is_header(name, "content-range"))
    take_range(value, *this);
  else if (is_header(name, "etag"))
    keep(etag);
  else if (is_header(name, "x-goog-generation"))
    keep(generation);
  else if (is_header(name, "last-modified"))
    keep(last_modified);
  else if (is_header(name, "content-encoding"))
    keep(content_encoding);
  else if (is_header(name, "location"))
    location = value.substr(0, 8 * longest_kept);
  else if (is_header(name, "link"))
    link = value.substr(0, 8 * longest_kept);
  else if (is_header(name, "x-error-code"))
    keep(service.error_code);
  else if (is_header(name, "retry-after"))
    keep(retry_after);
  else if (is_header(name, "date"))
    keep(date);
  else if (is_header(name, "x-amz-bucket-region"))
    keep(service.bucket_region);
  else if (is_header(name, "x-amz-request-id") || is_header(name, "x-request-id"))
    keep(service.request_id);
}

object_pin http_head::pin(std::uint64_t size) const {
  using kind = object_pin::kind;
  for (const auto is : {kind::generation, kind::etag, kind::last_modified})
    if (auto x = validator(is); !x.empty())
      return {.size = size, .is = is, .validator = std::move(x), .written = last_modified};
  return {.size = size};
}

std::string http_head::validator(object_pin::kind is) const {
  switch (is) {
  case object_pin::kind::generation:
    return generation;
  case object_pin::kind::etag:
    return is_strong_etag(etag) ? etag : std::string{};
  case object_pin::kind::last_modified:
    return last_modified;
  case object_pin::kind::none:
    break;
  }
  return {};
}

http_verdict judge(const http_head& head, const byte_range& asked,
                   const std::optional<object_pin>& pin) {
  using kind = http_verdict::kind;
  const auto answer = "HTTP status " + std::to_string(head.status);
  if (head.is_damaged && (head.status == 200 || head.status == 206))
    return wrong("headers that contradict each other", asked);
  switch (head.status) {
  case 200:
    return judge_whole(head, asked, pin);
  case 206:
    if (!head.range || !head.total || head.range->end > *head.total)
      return wrong("a part of the object, and not which one", asked);
    return judge_part(head, *head.range, *head.total, asked, pin);
  case 301:
  case 302:
  case 303:
  case 307:
  case 308:
    if (!head.location.empty())
      return {.is = kind::elsewhere};
    return {.is = kind::refused, .got = answer + " without a place", .needed = "the object"};
  case 401:
  case 403:
    return {.is = kind::refused,
            .got = answer + ": the server refuses to show it",
            .needed = "an object that may be read"};
  case 404:
  case 410:
    return {.is = kind::not_found, .got = answer, .needed = "an object of that name"};
  case 412:
    if (pin)
      return changed(answer, *pin);
    return {.is = kind::refused, .got = answer, .needed = "the object"};
  case 416:
    if (pin && head.total && *head.total != pin->size)
      return changed(std::to_string(*head.total) + " bytes", *pin);
    if (!pin || asked.begin >= pin->size)
      return {.is = kind::beyond, .pin = head.pin(head.total.value_or(0))};
    return wrong(answer, asked);
  default:
    return {.is = is_busy_status(head.status) ? kind::busy : kind::refused,
            .got = answer,
            .needed = "status 206, a part of the object"};
  }
}

std::string next_in_links(const http_head& head) {
  std::string_view rest{head.link}; // <URL>; rel="next", <URL>; rel="last"
  while (!rest.empty()) {
    const auto begin = rest.find('<');
    const auto end = rest.find('>', std::min(begin, rest.size()));
    if (end == std::string_view::npos)
      return {};
    const auto url = rest.substr(begin + 1, end - begin - 1);
    rest.remove_prefix(end + 1);
    const auto facts = rest.substr(0, std::min(rest.find('<'), rest.size()));
    if (facts.find("rel=\"next\"") != std::string_view::npos)
      return std::string{url};
  }
  return {};
}

std::optional<std::int64_t> server_time(const http_head& head) {
  return seconds_of(head.date);
}

std::optional<double> wait_asked_for(const http_head& head) {
  constexpr double longest = 300;
  if (head.retry_after.empty())
    return {};
  if (const auto seconds = whole_number(head.retry_after))
    return std::min(static_cast<double>(*seconds), longest);
  const auto until = seconds_of(head.retry_after);
  const auto now = seconds_of(head.date);
  if (!until || !now)
    return {};
  return std::clamp(static_cast<double>(*until - *now), 0.0, longest);
}

} // namespace leat
