#include "runtime/storage/remote/aws/aws_signature.hpp"

#include "runtime/base/sha256.hpp"
#include "runtime/base/text.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>
#include <new>
#include <string_view>

namespace leat {

namespace {

constexpr std::size_t hash_bytes = 32;
using hash = std::array<unsigned char, hash_bytes>;

std::string_view bytes_of(const hash& x) noexcept {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

std::string in_hex(const hash& x) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const auto byte : x)
    text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

hash keyed(std::string_view key, std::string_view text) {
  hash x{};
  unsigned size = 0;
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
              reinterpret_cast<const unsigned char*>(text.data()), text.size(), x.data(), &size))
    throw std::bad_alloc{};
  return x;
}

/// "20130524T000000Z"
std::string time_text(std::int64_t time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 20> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

/// The key of one day, region and service.
hash signing_key(const aws_credentials& by, std::string_view day, std::string_view region) {
  auto first = "AWS4" + std::string{by.secret_key.reveal()};
  auto key = keyed(first, day);
  wipe(first.data(), first.size());
  key = keyed(bytes_of(key), region);
  key = keyed(bytes_of(key), "s3");
  return keyed(bytes_of(key), "aws4_request");
}

} // namespace

std::vector<std::string> aws_signature(const aws_request& x, const aws_credentials& by,
                                       const std::string& region, std::int64_t time) {
  const auto at = time_text(time);
  const auto day = at.substr(0, 8);
  auto headers = x.headers;
  headers["host"] = x.host;
  headers["x-amz-content-sha256"] = x.body_hash;
  headers["x-amz-date"] = at;
  if (!by.session_token.is_empty())
    headers["x-amz-security-token"] = by.session_token.reveal();

  const auto names = listed(
      headers, [](const auto& header) { return header.first; }, ";");
  auto asked = x.method + "\n" + x.path + "\n" + x.query + "\n";
  for (const auto& [name, value] : headers)
    asked += name + ":" + std::string{trimmed(value)} + "\n";
  asked += "\n" + names + "\n" + x.body_hash;
  const auto scope = day + "/" + region + "/s3/aws4_request";
  auto key = signing_key(by, day, region);
  const auto signature =
      keyed(bytes_of(key), "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + sha256_text(asked));
  wipe(key.data(), key.size());

  std::vector<std::string> lines{"Authorization: AWS4-HMAC-SHA256 Credential=" + by.access_key + "/"
                                 + scope + ", SignedHeaders=" + names
                                 + ", Signature=" + in_hex(signature)};
  for (const auto& [name, value] : headers)
    if (name != "host" && !x.headers.contains(name))
      lines.push_back(name + ": " + value);
  return lines;
}

} // namespace leat
