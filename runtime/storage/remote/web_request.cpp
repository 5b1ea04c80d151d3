#include "runtime/storage/remote/web_request.hpp"

#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/certificate_bundle.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_of_error = 2048;
/// So much of a body that is of no use is read, so that the connection can be used again.
constexpr std::uint64_t most_drained = std::uint64_t{64} << 10;
constexpr int first_of_refusals = 300;

template <class Value>
void set(void* handle, CURLoption option, Value value) {
  ::curl_easy_setopt(handle, option, value);
}

void* add_header(void* list, const std::string& line) {
  auto* const longer = ::curl_slist_append(static_cast<curl_slist*>(list), line.c_str());
  if (!longer)
    throw std::bad_alloc{};
  return longer;
}

struct url_freeing {
  void operator()(CURLU* x) const noexcept { ::curl_url_cleanup(x); }
};
using url_ptr = std::unique_ptr<CURLU, url_freeing>;

std::string part_of(const url_ptr& x, CURLUPart part) {
  char* text = nullptr;
  if (::curl_url_get(x.get(), part, &text, 0) != CURLUE_OK)
    return {};
  std::string copy{text};
  ::curl_free(text);
  return copy;
}

} // namespace

bool is_final_failure(int result) noexcept {
  switch (result) {
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_ENGINE_NOTFOUND:
    return true;
  default:
    return false;
  }
}

web_request::web_request(const byte_range& asked, bool is_second)
    : handle_(::curl_easy_init()), asked_(asked), is_second_(is_second) {}

web_request::~web_request() {
  ::curl_easy_cleanup(handle_);
  ::curl_slist_free_all(static_cast<curl_slist*>(headers_));
}

void web_request::prepare(const std::string& url, const std::optional<object_pin>& pin,
                          std::chrono::milliseconds connect, std::chrono::seconds stall,
                          range_fetch& fetch) {
  if (!handle_)
    throw std::bad_alloc{};
  fetch_ = &fetch;
  asked_at_ = url;
  curl_text_.assign(CURL_ERROR_SIZE, '\0');
  if (!fetch.takes_whole())
    headers_ = add_header(headers_, "Range: bytes=" + std::to_string(asked_.begin) + "-"
                                        + std::to_string(asked_.end - 1));
  headers_ = add_header(headers_, "Accept-Encoding: identity");
  if (pin && pin->is == object_pin::kind::etag)
    headers_ = add_header(headers_, "If-Match: " + pin->validator);
  else if (pin && pin->is == object_pin::kind::last_modified)
    headers_ = add_header(headers_, "If-Unmodified-Since: " + pin->validator);
  if (const auto* signer = fetch.object().signer())
    for (const auto& x : signer->headers_for(url, std::time(nullptr)))
      headers_ = add_header(headers_, x);
  set(handle_, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(headers_));
  set(handle_, CURLOPT_URL, url.c_str());
  set(handle_, CURLOPT_ERRORBUFFER, curl_text_.data());
  set(handle_, CURLOPT_USERAGENT, "leat/" LEAT_VERSION);
  set(handle_, CURLOPT_PATH_AS_IS, 1L);
  set(handle_, CURLOPT_NOSIGNAL, 1L);
  set(handle_, CURLOPT_FOLLOWLOCATION, 0L); // it would pass headers on to other hosts
  set(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle_, CURLOPT_BUFFERSIZE, 262'144L);
  set(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
  set(handle_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));
  set(handle_, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  set(handle_, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall.count()));
#if CURL_AT_LEAST_VERSION(7, 85, 0)
  set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
#endif
  if (const char* bundle = certificate_bundle())
    set(handle_, CURLOPT_CAINFO, bundle);
  if (is_second_) // the other connection may be what hangs
    set(handle_, CURLOPT_FRESH_CONNECT, 1L);
  set(handle_, CURLOPT_HEADERFUNCTION, &web_request::on_header);
  set(handle_, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(handle_, CURLOPT_WRITEFUNCTION, &web_request::on_body);
  set(handle_, CURLOPT_WRITEDATA, static_cast<void*>(this));
  if (is_second_)
    kept_.resize(static_cast<std::size_t>(asked_.size()));
}

std::size_t web_request::on_header(char* bytes, std::size_t one, std::size_t size,
                                   void* self) noexcept {
  try {
    static_cast<web_request*>(self)->take_header({bytes, one * size});
    return one * size;
  } catch (...) { // no memory: the transfer fails
    return 0;
  }
}

std::size_t web_request::on_body(char* bytes, std::size_t one, std::size_t size,
                                 void* self) noexcept {
  const std::span all{reinterpret_cast<const std::byte*>(bytes), one * size};
  try {
    return static_cast<web_request*>(self)->take_body(all) ? all.size() : 0;
  } catch (...) {
    return 0;
  }
}

void web_request::take_header(std::string_view line) {
  if (verdict_)
    return; // trailers
  const bool is_end = line == "\r\n" || line == "\n";
  if (!is_end)
    return head_.add_line(line);
  if (head_.status < 200)
    return;
  answered_at_ = std::time(nullptr);
  verdict_ = fetch_->head(head_, asked_);
}

/// False: the rest is of no use, and too long to be read to its end.
bool web_request::take_body(std::span<const std::byte> bytes) {
  if (!verdict_)
    return false;
  if (verdict_->is != http_verdict::kind::good) {
    const auto n = std::min(bytes.size(), most_of_error - error_body_.size());
    error_body_.append(reinterpret_cast<const char*>(bytes.data()), n);
    got_ += bytes.size();
    return got_ <= most_drained;
  }
  if (bytes.size() > verdict_->range.size() - got_) {
    has_too_many_ = true;
    return false;
  }
  if (is_second_)
    std::copy(bytes.begin(), bytes.end(), kept_.begin() + static_cast<std::ptrdiff_t>(got_));
  else if (!fetch_->learns_only()) {
    fetch_->put(asked_.begin + got_, bytes);
    // A body that does not say how long it is may turn out to be another one: until its end, none
    // of it counts.
    if (!fetch_->takes_whole() && head_.content_length)
      fetch_->has_come(asked_.begin + got_ + bytes.size());
  }
  got_ += bytes.size();
  return true;
}

web_request::durations web_request::times() const noexcept {
  const auto time = [&](CURLINFO which) {
    constexpr std::int64_t ns_in_us = 1000;
    curl_off_t us = 0;
    return ::curl_easy_getinfo(handle_, which, &us) == CURLE_OK ? std::int64_t{us} * ns_in_us : 0;
  };
  long connections = 0;
  ::curl_easy_getinfo(handle_, CURLINFO_NUM_CONNECTS, &connections);
  return {.to_answer = time(CURLINFO_STARTTRANSFER_TIME_T) - time(CURLINFO_PRETRANSFER_TIME_T),
          .round_trip = connections > 0
                            ? time(CURLINFO_CONNECT_TIME_T) - time(CURLINFO_NAMELOOKUP_TIME_T)
                            : 0};
}

web_outcome web_request::finish(int result, range_fetch& fetch) {
  using kind = web_outcome::kind;
  if (!verdict_ || verdict_->is == http_verdict::kind::good) {
    const bool is_all = verdict_ && (fetch.takes_whole() || got_ == verdict_->range.size());
    const bool has_ended = result == CURLE_OK || (!fetch.takes_whole() && head_.content_length);
    if (is_all && !has_too_many_ && has_ended) {
      if (is_second_ && !fetch.learns_only())
        fetch.put(asked_.begin, std::span{kept_}.first(static_cast<std::size_t>(got_)));
      if (!fetch.learns_only()) {
        const auto end = asked_.begin + got_;
        fetch.has_come(end);
        fetch.ends_at(end);
      }
      return {.is = kind::complete, .bytes = got_};
    }
    // Nothing is known to be in its place where a body is longer than its response said.
    const bool has_part = verdict_ && !is_second_ && !is_all && !has_too_many_;
    if (has_part && !fetch.learns_only() && !fetch.takes_whole())
      fetch.has_come(asked_.begin + got_);
    web_outcome x{.bytes = has_part ? got_ : 0,
                  .got = failure_text(result),
                  .needed = "a server that answers: check the address and the network"};
    if (result == CURLE_OUT_OF_MEMORY)
      return {.is = kind::failed, .code = errc::no_resources, .got = "no more memory"};
    if (is_final_failure(result)) {
      x.is = kind::failed;
      if (result == CURLE_PEER_FAILED_VERIFICATION)
        x.needed = "a certificate that is trusted here: AWS_CA_BUNDLE, CURL_CA_BUNDLE or "
                   "SSL_CERT_FILE, the first of these that is set, names a bundle";
      return x;
    }
    if (verdict_ && (has_too_many_ || result == CURLE_OK)) {
      x.is_wrong = has_too_many_;
      x.got = has_too_many_ ? "more bytes than the response said"
                            : "a response that ended after " + std::to_string(got_) + " bytes";
      x.needed = std::to_string(verdict_->range.size()) + " bytes";
    }
    return x;
  }
  return outcome_of_verdict(0);
}

web_outcome web_request::outcome_of_verdict(std::uint64_t bytes) const {
  using kind = http_verdict::kind;
  const auto& x = *verdict_;
  auto got = x.got;
  auto code = service_code(error_body_);
  if (code.empty())
    code = as_utf8(head_.service.error_code);
  if (!code.empty())
    got += ", " + code;
  if (!head_.service.bucket_region.empty())
    got += ", in the region " + as_utf8(head_.service.bucket_region);
  if (!head_.service.request_id.empty())
    got += ", request " + as_utf8(head_.service.request_id);
  switch (x.is) {
  case kind::good:
  case kind::beyond:
    fetch_->ends_at(asked_.begin);
    return {.is = web_outcome::kind::complete, .bytes = bytes};
  case kind::elsewhere:
    return {.is = web_outcome::kind::elsewhere};
  case kind::busy:
    return {.is = web_outcome::kind::again,
            .is_too_many = head_.status == 429 || head_.status == 503,
            .got = std::move(got),
            .needed = x.needed};
  case kind::wrong:
    return {.is = web_outcome::kind::again,
            .is_wrong = true,
            .got = std::move(got),
            .needed = x.needed};
  case kind::not_found:
  case kind::refused:
    if (fetch_->object().move_back(asked_at_)) // where a redirect led to may have become invalid
      return {.is = web_outcome::kind::again,
              .is_wrong = true,
              .got = std::move(got),
              .needed = x.needed};
    // Who asks has nothing to do with a body that is of no use.
    if (auto* const signer = fetch_->object().signer();
        signer && x.is == kind::refused && head_.status >= first_of_refusals) {
      const auto next = signer->refused(code.empty() ? std::to_string(head_.status) : code,
                                        server_time(head_).value_or(0), std::time(nullptr));
      if (next != request_signer::answer::give_up)
        return {.is = web_outcome::kind::again,
                .is_wrong = next == request_signer::answer::ask_again,
                .got = std::move(got),
                .needed = signer->advice()};
      return {.is = web_outcome::kind::failed, .got = std::move(got), .needed = signer->advice()};
    }
    return {.is = web_outcome::kind::failed,
            .code = x.is == kind::not_found ? errc::not_found : errc::io,
            .got = std::move(got),
            .needed = x.needed};
  case kind::changed:
    return {.is = web_outcome::kind::failed, .got = std::move(got), .needed = x.needed};
  }
  return {};
}

std::string web_request::failure_text(int result) const {
  const auto code = static_cast<CURLcode>(result);
  const std::string said{curl_text_.empty() ? "" : curl_text_.data()};
  return as_utf8(said.empty() ? std::string{::curl_easy_strerror(code)} : said);
}

std::optional<std::string> web_request::redirect_target() const {
  const url_ptr x{::curl_url()};
  if (!x
      || ::curl_url_set(x.get(), CURLUPART_URL, asked_at_.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK)
    return {};
  const auto scheme = part_of(x, CURLUPART_SCHEME);
  if (::curl_url_set(x.get(), CURLUPART_URL, head_.location.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK)
    return {};
  const auto to = part_of(x, CURLUPART_SCHEME);
  if (to != "https" && to != scheme)
    return {};
  return part_of(x, CURLUPART_URL);
}

} // namespace leat
