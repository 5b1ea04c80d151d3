#include "runtime/storage/remote/s3_address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>

namespace leat {

namespace {

bool is_bucket_character(char x) noexcept {
  return is_word_char(x) || x == '-' || x == '.';
}

} // namespace

s3_address::s3_address(const std::string& name, const std::string& stage) {
  const auto refuse = [&](std::string got, std::string needed) {
    throw_file_error(errc::invalid_argument, stage, as_utf8(without_secrets(name)), std::move(got),
                     std::move(needed));
  };
  const auto begin = scheme_of(name).size() + 3;
  const auto end = std::min(name.find('/', begin), name.size());
  bucket_ = name.substr(begin, end - begin);
  key_ = name.substr(std::min(end + 1, name.size()));
  if (bucket_.empty() || bucket_.size() > 63 || bucket_.front() == '.' || bucket_.front() == '-'
      || !std::all_of(bucket_.begin(), bucket_.end(), is_bucket_character))
    refuse("an address without a valid bucket", "s3://BUCKET/KEY");
  if (has_control_character(key_))
    refuse("a control character in an address", "printable ones");
}

std::string s3_address::place(const aws_settings& at) const {
  if (!at.endpoint.empty())
    return at.endpoint + "/" + bucket_;
  const auto service = "s3." + at.region + ".amazonaws.com";
  // A certificate for "*.s3.REGION..." does not stand for names with further dots.
  if (bucket_.find('.') != std::string::npos)
    return "https://" + service + "/" + bucket_;
  return "https://" + bucket_ + "." + service;
}

std::string s3_address::url(const aws_settings& at) const {
  return place(at) + "/" + percent_encoded(key_, true);
}

std::string s3_address::url(const aws_settings& at, const std::string& query) const {
  return place(at) + "/?" + query;
}

} // namespace leat
