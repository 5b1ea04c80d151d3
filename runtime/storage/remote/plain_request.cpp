#include "runtime/storage/remote/plain_request.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/certificate_bundle.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

/// By which services that issue tokens say what is wrong: ", invalid_grant"; empty if there is
/// none.
std::string error_word(const std::string& body) {
  const auto all = nlohmann::json::parse(body, nullptr, false);
  const auto word = all.is_object() ? all.find("error") : all.end();
  if (word == all.end() || !word->is_string())
    return {};
  const auto text = word->get<std::string>();
  const bool is_word = text.size() <= 40 && std::all_of(text.begin(), text.end(), is_word_char);
  return is_word && !text.empty() ? ", " + text : std::string{};
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
  if (!x.body.is_empty()) {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(x.body.reveal().size()));
    set(CURLOPT_POSTFIELDS, x.body.reveal().data());
  }
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  if (x.is_direct)
    set(CURLOPT_PROXY, ""); // whatever http_proxy says
  if (const char* bundle = certificate_bundle())
    set(CURLOPT_CAINFO, bundle);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(x.timeout.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(x.connect_timeout.count()));
  set(CURLOPT_WRITEFUNCTION, &append);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const auto result = ::curl_easy_perform(handle.get());
  long status = 0;
  ::curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (result != CURLE_OK || status != 200)
    throw_file_error(errc::io, x.stage, as_utf8(without_secrets(x.url)),
                     result == CURLE_OK ? "HTTP status " + std::to_string(status) + error_word(body)
                                        : std::string{::curl_easy_strerror(result)},
                     x.needed);
  return body;
}

} // namespace leat
