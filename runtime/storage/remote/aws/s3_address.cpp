#include "runtime/storage/remote/aws/s3_address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace leat {

namespace {

/// What services that sign addresses put after a key.
bool has_signature(std::string_view key) noexcept {
  const auto query = key.substr(std::min(key.find('?'), key.size()));
  constexpr std::array marks{"X-Amz-", "X-Goog-", "Signature=", "AWSAccessKeyId="};
  return std::any_of(marks.begin(), marks.end(),
                     [&](const char* x) { return query.find(x) != query.npos; });
}

bool is_bucket_character(char x) noexcept {
  return is_word_char(x) || x == '-' || x == '.';
}

} // namespace

s3_address::s3_address(const std::string& name, const std::string& stage) {
  const auto refuse = [&](std::string got, std::string needed) {
    throw_file_error(errc::invalid_argument, stage, as_utf8(without_secrets(name)), std::move(got),
                     std::move(needed));
  };
  const auto scheme = scheme_of(name);
  scheme_ = scheme.starts_with("g") ? "gs" : "s3";
  const auto begin = scheme.size() + 3;
  const auto end = std::min(name.find('/', begin), name.size());
  bucket_ = name.substr(begin, end - begin);
  key_ = name.substr(std::min(end + 1, name.size()));
  // Google's may be names of domains.
  const std::size_t most = scheme_ == "gs" && bucket_.find('.') != bucket_.npos ? 222 : 63;
  if (bucket_.empty() || bucket_.size() > most || bucket_.front() == '.' || bucket_.front() == '-'
      || !std::all_of(bucket_.begin(), bucket_.end(), is_bucket_character))
    refuse("an address without a valid bucket", scheme_ + "://BUCKET/KEY");
  if (has_signature(key_))
    refuse("an address with a signature",
           "one without, which pipelines and errors may show; docs/remote.md says where keys come "
           "from");
  if (has_control_character(key_))
    refuse("a control character in an address", "printable ones");
}

std::string s3_address::place(const aws_settings& at) const {
  const bool is_amazon = at.endpoint.empty();
  const auto service = is_amazon ? "https://s3." + at.region + ".amazonaws.com" : at.endpoint;
  // A certificate for "*.s3.REGION..." does not stand for names with further dots.
  const bool is_in_host = at.bucket_in == bucket_place::host
                          || (at.bucket_in == bucket_place::automatic && is_amazon
                              && bucket_.find('.') == bucket_.npos);
  if (!is_in_host)
    return service + "/" + bucket_;
  const auto host = service.find("://") + 3;
  return service.substr(0, host) + bucket_ + "." + service.substr(host);
}

std::string s3_address::url(const aws_settings& at) const {
  return place(at) + "/" + percent_encoded(key_, true);
}

std::string s3_address::url(const aws_settings& at, const std::string& query) const {
  return place(at) + "/?" + query;
}

} // namespace leat
