#include "runtime/storage/remote/plain_request.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <curl/curl.h>

#include <memory>
#include <new>

namespace leat {

namespace {

constexpr std::size_t most_of_answer = std::size_t{256} << 10;

struct handle_freeing {
  void operator()(CURL* x) const noexcept { ::curl_easy_cleanup(x); }
};
struct list_freeing {
  void operator()(curl_slist* x) const noexcept { ::curl_slist_free_all(x); }
};

std::size_t append(char* bytes, std::size_t one, std::size_t size, void* to) noexcept {
  auto& body = *static_cast<std::string*>(to);
  try {
    if (body.size() + one * size > most_of_answer)
      return 0;
    body.append(bytes, one * size);
    return one * size;
  } catch (...) { // no memory: the transfer fails
    return 0;
  }
}

} // namespace

std::string ask(const plain_request& x) {
  const std::unique_ptr<CURL, handle_freeing> handle{::curl_easy_init()};
  std::unique_ptr<curl_slist, list_freeing> headers;
  for (const auto& line : x.headers) {
    auto* const longer = ::curl_slist_append(headers.get(), line.c_str());
    if (!longer)
      throw std::bad_alloc{};
    (void)headers.release();
    headers.reset(longer);
  }
  if (!handle)
    throw std::bad_alloc{};
  std::string body;
  const auto set = [&](CURLoption option, auto value) {
    ::curl_easy_setopt(handle.get(), option, value);
  };
  set(CURLOPT_URL, x.url.c_str());
  set(CURLOPT_CUSTOMREQUEST, x.method.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOPROXY, "169.254.169.254,169.254.170.2,169.254.170.23,localhost,127.0.0.1");
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(x.timeout.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(x.timeout.count()));
  set(CURLOPT_WRITEFUNCTION, &append);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const auto result = ::curl_easy_perform(handle.get());
  long status = 0;
  ::curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (result != CURLE_OK || status != 200)
    throw_file_error(errc::io, "s3", as_utf8(without_secrets(x.url)),
                     result == CURLE_OK ? "HTTP status " + std::to_string(status)
                                        : std::string{::curl_easy_strerror(result)},
                     "credentials from this service");
  return body;
}

} // namespace leat
