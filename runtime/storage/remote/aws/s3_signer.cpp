#include "runtime/storage/remote/aws/s3_signer.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr auto payer_header = "x-amz-request-payer";

/// "https://host:80/a/b?c=d" in its parts.
aws_request signable(std::string_view url) {
  const auto host = url.find("://") + 3;
  const auto path = std::min(url.find('/', host), url.size());
  const auto query = std::min(url.find('?', path), url.size());
  return {.host = std::string{url.substr(host, path - host)},
          .path = std::string{url.substr(path, query - path)},
          .query = std::string{url.substr(std::min(query + 1, url.size()))}};
}

} // namespace

std::vector<std::string> s3_signer::headers_for(std::string_view url, std::int64_t time) const {
  return lines_for(signable(url), time);
}

std::vector<std::string> s3_signer::headers_of_put(std::string_view url,
                                                   const std::string& body_hash,
                                                   std::int64_t time) const {
  auto asked = signable(url);
  asked.method = "PUT";
  asked.body_hash = body_hash;
  return lines_for(std::move(asked), time);
}

std::vector<std::string> s3_signer::lines_for(aws_request asked, std::int64_t time) const {
  if (!keeper_ && !by_.credentials)
    return {};
  const auto by = keeper_ ? keeper_->current(time) : *by_.credentials;
  if (by_.requester_pays)
    asked.headers[payer_header] = "requester";
  auto lines = aws_signature(asked, by, by_.region, time + skew_.load());
  if (by_.requester_pays)
    lines.push_back(std::string{payer_header} + ": requester");
  return lines;
}

request_signer::answer s3_signer::refused(std::string_view code, std::int64_t server_time,
                                          std::int64_t time) {
  constexpr std::int64_t most_apart = 60; // the server takes what is up to 15 minutes apart
  if (code == "RequestTimeTooSkewed" && server_time != 0) {
    const auto skew = server_time - time;
    const auto before = skew_.exchange(skew);
    return std::max(skew, before) - std::min(skew, before) > most_apart ? answer::ask_again
                                                                        : answer::give_up;
  }
  if (!keeper_
      || (code != "ExpiredToken" && code != "InvalidToken" && code != "TokenRefreshRequired"))
    return answer::give_up;
  keeper_->renew(time);
  return answer::ask_later;
}

std::string s3_signer::who() const {
  return keeper_ ? keeper_->source() : by_.credentials ? by_.source : std::string{};
}

std::string s3_signer::advice() const {
  if (keeper_)
    return "an object that " + keeper_->source() + " may read, in the region " + by_.region;
  if (!by_.credentials)
    return "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile; there are none "
           "in "
           + by_.source + (by_.issuer ? ", and " + nobody_issues(by_.issuer->source) : "");
  return "an object that the credentials of " + by_.source + " may read, in the region "
         + by_.region;
}

} // namespace leat
