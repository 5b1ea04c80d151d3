#include "runtime/storage/remote/object_writer.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/certificate_bundle.hpp"
#include "runtime/storage/remote/server/retry_schedule.hpp"
#include "runtime/storage/remote/web_request.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::int64_t ns_in_s = 1'000'000'000;
constexpr std::int64_t ns_in_ms = 1'000'000;
/// Nobody waits longer for an answer to Ctrl-C.
constexpr int longest_put_wait_ms = 200;

struct put_handle_freeing {
  void operator()(CURL* x) const noexcept { ::curl_easy_cleanup(x); }
};
struct put_multi_freeing {
  void operator()(CURLM* x) const noexcept { ::curl_multi_cleanup(x); }
};
struct put_list_freeing {
  void operator()(curl_slist* x) const noexcept { ::curl_slist_free_all(x); }
};

/// Waits for sockets and for times, and asks the caller's patience meanwhile.
class put_waiter : not_copied {
public:
  put_waiter() : multi_(::curl_multi_init()) {
    if (!multi_)
      throw std::bad_alloc{};
  }

  CURLcode perform(CURL* handle) {
    ::curl_multi_add_handle(multi_.get(), handle);
    struct removal {
      CURLM* from;
      CURL* handle;
      ~removal() { ::curl_multi_remove_handle(from, handle); }
    } const at_end{multi_.get(), handle};
    for (int running = 1;;) {
      check_patience();
      if (::curl_multi_perform(multi_.get(), &running) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
      if (running == 0)
        break;
      wait(longest_put_wait_ms);
    }
    int left = 0;
    const auto* message = ::curl_multi_info_read(multi_.get(), &left);
    return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OUT_OF_MEMORY;
  }

  void wait_until(std::int64_t time) {
    for (auto now = steady_ns(); now < time; now = steady_ns()) {
      check_patience();
      wait(static_cast<int>(
          std::min<std::int64_t>(longest_put_wait_ms, (time - now + ns_in_ms - 1) / ns_in_ms)));
    }
  }

private:
  void wait(int ms) { ::curl_multi_poll(multi_.get(), nullptr, 0, ms, nullptr); }

  const std::unique_ptr<CURLM, put_multi_freeing> multi_;
};

/// One PUT.
class put_attempt : not_copied {
public:
  put_attempt(const put_request& to, std::span<const std::byte> bytes, const std::string& hash,
              const transfer_settings& how)
      : handle_(::curl_easy_init()), said_(CURL_ERROR_SIZE, '\0') {
    if (!handle_)
      throw std::bad_alloc{};
    // Neither a type that libcurl makes up, nor a wait for "100 Continue".
    for (const char* line : {"Content-Type:", "Expect:"})
      add(line);
    if (to.signer)
      for (const auto& line : to.signer->headers_of_put(to.url, hash, std::time(nullptr)))
        add(line);
    set(CURLOPT_URL, to.url.c_str());
    set(CURLOPT_CUSTOMREQUEST, "PUT");
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
    set(CURLOPT_POSTFIELDS, bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data()));
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_ERRORBUFFER, said_.data());
    set(CURLOPT_USERAGENT, "leat/" LEAT_VERSION);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(how.connect.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(how.stall.count()));
#if CURL_AT_LEAST_VERSION(7, 85, 0)
    set(CURLOPT_PROTOCOLS_STR, "http,https");
#endif
    if (const char* bundle = certificate_bundle())
      set(CURLOPT_CAINFO, bundle);
    set(CURLOPT_HEADERFUNCTION, &put_attempt::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &put_attempt::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  }

  CURL* handle() const noexcept {
    return handle_.get();
  }
  const http_head& head() const noexcept {
    return head_;
  }
  bool has_head() const noexcept {
    return is_complete_;
  }
  std::string code() const {
    auto code = service_code(body_);
    return code.empty() ? as_utf8(head_.service.error_code) : code;
  }
  std::string failure_text(CURLcode result) const {
    const std::string text{said_.data()};
    return as_utf8(text.empty() ? std::string{::curl_easy_strerror(result)} : text);
  }

private:
  template <class Value>
  void set(CURLoption option, Value value) {
    ::curl_easy_setopt(handle_.get(), option, value);
  }
  void add(const std::string& line) {
    auto* const longer = ::curl_slist_append(headers_.get(), line.c_str());
    if (!longer)
      throw std::bad_alloc{};
    (void)headers_.release();
    headers_.reset(longer);
  }
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size,
                               void* self) noexcept {
    try {
      static_cast<put_attempt*>(self)->take_header({bytes, one * size});
      return one * size;
    } catch (...) { // no memory: the transfer fails
      return 0;
    }
  }
  void take_header(std::string_view line) {
    if (is_complete_)
      return; // trailers
    if (line != "\r\n" && line != "\n")
      return head_.add_line(line);
    constexpr int first_final = 200;
    is_complete_ = head_.status >= first_final;
  }
  /// The beginning has the code of an error; the rest is of no use.
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t size, void* self) noexcept {
    constexpr std::size_t most = 2048;
    try {
      auto& body = static_cast<put_attempt*>(self)->body_;
      body.append(bytes, std::min(one * size, most - body.size()));
      return one * size;
    } catch (...) {
      return 0;
    }
  }

  const std::unique_ptr<CURL, put_handle_freeing> handle_;
  std::unique_ptr<curl_slist, put_list_freeing> headers_;
  http_head head_;
  bool is_complete_ = false;
  std::string body_;
  std::vector<char> said_;
};

/// One object, from the first request to the last.
class object_writing : not_copied {
public:
  object_writing(const put_request& x, std::span<const std::byte> bytes,
                 const transfer_settings& how)
      : to_(x), bytes_(bytes), how_(how), hash_(sha256_text(text_of(bytes))),
        schedule_(how.retry, xxh3_64(std::as_bytes(std::span{x.name})), steady_ns()) {}

  void run() {
    for (;;) {
      schedule_.begin_attempt();
      put_attempt now{to_, bytes_, hash_, how_};
      const auto result = waiter_.perform(now.handle());
      has_answered_ = has_answered_ || now.head().status != 0;
      // A server that refuses may close before it has heard everything.
      constexpr int first_failure = 300;
      const bool is_refused = now.has_head() && now.head().status >= first_failure;
      if (result != CURLE_OK && !is_refused)
        failed(now, result);
      else if (judged(now))
        return;
    }
  }

private:
  static std::string_view text_of(std::span<const std::byte> x) {
    return {reinterpret_cast<const char*>(x.data()), x.size()};
  }

  void failed(const put_attempt& x, CURLcode result) {
    if (result == CURLE_OUT_OF_MEMORY)
      throw_file_error(errc::no_resources, "put", to_.name, "no more memory",
                       "a machine, or limits of the process, that have more");
    const std::string needed = "a server that answers: check the address and the network";
    if (is_final_failure(result))
      give_up(errc::io, x.failure_text(result), needed);
    pause({}, x.failure_text(result), needed);
  }

  /// True: the object is stored. False: it is to be put again, now.
  bool judged(const put_attempt& x) {
    const auto code = x.code();
    auto verdict = judge_put(x.head(), code);
    using kind = put_verdict::kind;
    if (verdict.is == kind::stored)
      return true;
    const auto& service = x.head().service;
    if (!code.empty())
      verdict.got += ", " + code;
    if (!service.bucket_region.empty())
      verdict.got += ", in the region " + as_utf8(service.bucket_region);
    if (!service.request_id.empty())
      verdict.got += ", request " + as_utf8(service.request_id);
    switch (verdict.is) {
    case kind::refused:
      refused(x, code, verdict);
      break;
    case kind::not_found:
      give_up(errc::not_found, verdict.got, verdict.needed);
    case kind::wrong:
      wrong(x, verdict);
      break;
    default:
      pause(x.head(), verdict.got, verdict.needed);
    }
    return false;
  }

  void refused(const put_attempt& x, const std::string& code, const put_verdict& verdict) {
    if (!to_.signer)
      give_up(errc::io, verdict.got, verdict.needed);
    const auto who = to_.signer->who();
    const auto needed =
        who.empty() ? to_.signer->advice() : "a place where " + who + " may put objects";
    using answer = request_signer::answer;
    switch (to_.signer->refused(code.empty() ? std::to_string(x.head().status) : code,
                                server_time(x.head()).value_or(0), std::time(nullptr))) {
    case answer::give_up:
      give_up(errc::io, verdict.got, needed);
    case answer::ask_again:
      return wrong(x, {.got = verdict.got, .needed = needed});
    case answer::ask_later:
      pause(x.head(), verdict.got, needed);
    }
  }

  void wrong(const put_attempt& x, const put_verdict& verdict) {
    if (!schedule_.take_wrong())
      give_up(errc::io, verdict.got, verdict.needed);
    pause(x.head(), verdict.got, verdict.needed);
  }

  /// Before the next request, unless there is to be none.
  void pause(const http_head& head, const std::string& got, const std::string& needed) {
    const auto wait = wait_asked_for(head);
    const auto now = steady_ns();
    const auto at = schedule_.next(
        now, wait ? std::optional{static_cast<std::int64_t>(*wait * 1e9)} : std::nullopt,
        budget_.take());
    const bool is_hopeless = !has_answered_ && schedule_.waited(now) > how_.first_answer.count();
    if (!at || is_hopeless)
      give_up(errc::io, got, needed);
    waiter_.wait_until(*at);
  }

  [[noreturn]] void give_up(errc code, const std::string& got, const std::string& needed) const {
    throw_file_error(code, "put", to_.name,
                     got + ", after "
                         + counted(static_cast<std::uint64_t>(schedule_.attempts()), "request")
                         + " and " + std::to_string(schedule_.waited(steady_ns()) / ns_in_s) + " s",
                     needed);
  }

  const put_request& to_;
  const std::span<const std::byte> bytes_;
  const transfer_settings& how_;
  const std::string hash_;
  put_waiter waiter_;
  retry_schedule schedule_;
  retry_budget budget_;
  bool has_answered_ = false;
};

} // namespace

put_verdict judge_put(const http_head& head, std::string_view code) {
  using kind = put_verdict::kind;
  const auto is_one_of = [&](std::initializer_list<std::string_view> codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  const auto answer = "HTTP status " + std::to_string(head.status);
  constexpr auto needed = "status 200 and the new object's ETag";
  if (head.status == 200 || head.status == 201) {
    if (head.is_damaged)
      return {.is = kind::wrong, .got = "headers that contradict each other", .needed = needed};
    if (head.etag.empty() && head.generation.empty())
      return {.is = kind::wrong, .got = answer + " without an ETag", .needed = needed};
    return {.is = kind::stored};
  }
  if (is_busy_status(head.status)
      || is_one_of({"RequestTimeout", "OperationAborted", "ConditionalRequestConflict"}))
    return {.is = kind::busy, .got = answer, .needed = needed};
  if (is_one_of({"BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch"}))
    return {.is = kind::wrong, .got = answer, .needed = "bytes that arrive as they were sent"};
  constexpr int first_redirect = 300;
  constexpr int last_redirect = 399;
  if (head.status >= first_redirect && head.status <= last_redirect)
    return {
        .is = kind::refused, .got = answer + ", a redirect", .needed = "the bucket's own place"};
  switch (head.status) {
  case 404:
  case 410:
    return {.is = kind::not_found, .got = answer, .needed = "a bucket that exists"};
  case 401:
  case 403:
    return {.got = answer + ": the server refuses to store it",
            .needed = "a place where objects may be put"};
  default:
    return {.got = answer, .needed = needed};
  }
}

void put_object(const put_request& x, std::span<const std::byte> bytes,
                const transfer_settings& how) {
  if (bytes.size() > most_put_bytes)
    throw_file_error(errc::invalid_argument, "put", x.name,
                     std::to_string(bytes.size()) + " bytes in one object",
                     "at most " + std::to_string(most_put_bytes));
  static const auto is_ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (is_ready != CURLE_OK)
    throw_error(errc::no_resources, "put", ::curl_easy_strerror(is_ready), "a machine that has it");
  object_writing{x, bytes, how}.run();
}

} // namespace leat
