#include "runtime/storage/remote/range_fetch.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

std::uint64_t total_of(const std::vector<std::span<std::byte>>& parts) {
  std::uint64_t size = 0;
  for (const auto& x : parts)
    size += x.size();
  return size;
}

} // namespace

range_fetch::range_fetch(std::shared_ptr<remote_object> object, std::uint64_t begin,
                         std::vector<std::span<std::byte>> into, read_done done)
    : object_(std::move(object)), range_{begin, begin + total_of(into)}, into_(std::move(into)),
      done_(std::move(done)) {}

range_fetch::range_fetch(std::shared_ptr<remote_object> object, std::string& body, std::size_t most,
                         read_done done)
    : object_(std::move(object)), range_{0, most}, done_(std::move(done)), body_(&body) {}

byte_range range_fetch::to_ask() const noexcept {
  return learns_only() ? byte_range{0, 1} : byte_range{range_.begin + got_, range_.end};
}

std::string range_fetch::asked_text() const {
  return takes_whole() || learns_only()
             ? std::string{}
             : "bytes " + std::to_string(range_.begin) + " to " + std::to_string(range_.end - 1);
}

http_verdict range_fetch::head(const http_head& x, const byte_range& asked) {
  if (takes_whole()) {
    body_->clear();
    next_page = next_in_links(x);
    if (x.status == 200)
      return {.is = http_verdict::kind::good, .range = asked};
    auto verdict = judge(x, asked, {});
    if (verdict.is == http_verdict::kind::good)
      verdict.is = http_verdict::kind::wrong;
    return verdict;
  }
  auto verdict = judge(x, asked, object_->pin());
  using kind = http_verdict::kind;
  // Whoever asks for the version only needs no byte: a server that ignores ranges says it as well.
  if (learns_only() && verdict.is == kind::wrong && x.status == 200 && x.content_length)
    verdict = {.is = kind::beyond, .pin = x.pin(*x.content_length)};
  if (verdict.is == kind::good || verdict.is == kind::beyond)
    object_->learn(verdict.pin);
  return verdict;
}

std::shared_ptr<range_fetch> range_fetch::part(const byte_range& range, read_done done) const {
  std::vector<std::span<std::byte>> into;
  auto at = range_.begin;
  for (const auto& x : into_) {
    const auto begin = std::max(at, range.begin);
    const auto end = std::min(at + x.size(), range.end);
    if (begin < end)
      into.push_back(
          x.subspan(static_cast<std::size_t>(begin - at), static_cast<std::size_t>(end - begin)));
    at += x.size();
  }
  auto made = std::make_shared<range_fetch>(object_, range.begin, std::move(into), std::move(done));
  made->is_urgent = is_urgent;
  return made;
}

void range_fetch::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (takes_whole()) {
    body_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return;
  }
  auto at = offset - range_.begin;
  for (auto& x : into_) {
    if (bytes.empty())
      return;
    if (at >= x.size()) {
      at -= x.size();
      continue;
    }
    const auto n = std::min<std::uint64_t>(bytes.size(), x.size() - at);
    std::copy_n(bytes.begin(), n, x.begin() + static_cast<std::ptrdiff_t>(at));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    at = 0;
  }
}

void range_fetch::ends_at(std::uint64_t end) noexcept {
  range_.end = std::clamp(end, range_.begin, range_.end);
  got_ = std::min(got_, range_.size());
}

void range_fetch::succeed() {
  if (const auto done = std::exchange(done_, nullptr))
    done({.bytes = got_, .failure = {}});
}

void range_fetch::fail(errc code, std::string got, std::string needed) {
  const auto done = std::exchange(done_, nullptr);
  if (!done)
    return;
  done(
      {.bytes = 0,
       .failure = std::make_shared<const error>(code, error_details{.stage = "read",
                                                                    .file = object_->name(),
                                                                    .offset = range_.begin + got_,
                                                                    .got = std::move(got),
                                                                    .needed = std::move(needed)})});
}

} // namespace leat
