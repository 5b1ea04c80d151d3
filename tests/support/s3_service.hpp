#pragma once

#include "runtime/base/sha256.hpp"
#include "runtime/storage/remote/aws/aws_signature.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "tests/support/fault_server.hpp"
#include "tests/support/files.hpp"

#include <ctime>
#include <filesystem>
#include <set>

namespace leat::test {

/// What S3 does beside handing over objects: it checks who asks, stores objects, and lists the
/// files of a folder, of which each subfolder is a bucket.
struct s3_service {
  std::string folder = {};
  aws_credentials owner = {};
  std::string region = "us-east-1";
  /// Seconds that its clock is ahead.
  std::int64_t ahead = 0;
  std::size_t names_per_page = 1000;
  /// Buckets that anybody may read.
  std::set<std::string> open_buckets = {};
  /// Whoever asks says that he pays.
  bool requester_pays = false;

  std::optional<fault_server::response> operator()(const fault_server::request& x) const {
    const auto bucket = x.path.substr(0, x.path.find('/'));
    if (!open_buckets.contains(bucket))
      if (const auto code = refusal(x); !code.empty())
        return error("403 Forbidden", code);
    if (x.method == "PUT")
      return put(bucket, x);
    const auto question = x.target.find('?');
    if (question == std::string::npos)
      return {};
    return list(bucket, parameters(x.target.substr(question + 1)));
  }

private:
  using parameter_map = std::map<std::string, std::string>;

  static parameter_map parameters(const std::string& query) {
    parameter_map all;
    for (std::size_t at = 0; at < query.size();) {
      const auto end = std::min(query.find('&', at), query.size());
      const auto equals = query.find('=', at);
      all[query.substr(at, equals - at)] =
          fault_server::decoded(query.substr(equals + 1, end - equals - 1));
      at = end + 1;
    }
    return all;
  }

  std::string now_text() const {
    const auto now = std::time(nullptr) + ahead;
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[40];
    return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
  }

  fault_server::response error(const std::string& status, const std::string& code) const {
    return {status, "Date: " + now_text() + "\r\nX-Amz-Request-Id: R17\r\n",
            "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code></Error>"};
  }

  /// The code of what is wrong with a request's signature, made anew of what came.
  std::string refusal(const fault_server::request& x) const {
    const auto authorization = x.headers.find("Authorization");
    if (authorization == x.headers.end())
      return "AccessDenied";
    const auto question = std::min(x.target.find('?'), x.target.size());
    const auto header = [&](const char* name) {
      const auto at = x.headers.find(name);
      return at == x.headers.end() ? std::string{} : at->second;
    };
    const auto at = header("x-amz-date");
    std::tm parts{};
    if (!::strptime(at.c_str(), "%Y%m%dT%H%M%SZ", &parts))
      return "AccessDenied";
    const auto time = ::timegm(&parts);
    aws_request asked{.method = x.method,
                      .host = header("Host"),
                      .path = x.target.substr(0, question),
                      .query = x.target.substr(std::min(question + 1, x.target.size())),
                      .body_hash = header("x-amz-content-sha256")};
    if (requester_pays)
      asked.headers["x-amz-request-payer"] = "requester";
    if (requester_pays != (header("x-amz-request-payer") == "requester"))
      return "AccessDenied";
    const auto want = aws_signature(asked, owner, region, time).front();
    if (header("x-amz-security-token") != owner.session_token.reveal()
        || "Authorization: " + authorization->second != want)
      return "SignatureDoesNotMatch";
    if (std::abs(time - (std::time(nullptr) + ahead)) > 900)
      return "RequestTimeTooSkewed";
    return {};
  }

  /// Stores what arrived as its signature says.
  fault_server::response put(const std::string& bucket, const fault_server::request& x) const {
    if (!std::filesystem::is_directory(folder + "/" + bucket))
      return error("404 Not Found", "NoSuchBucket");
    const auto hash = x.headers.find("x-amz-content-sha256");
    if (!open_buckets.contains(bucket)
        && (hash == x.headers.end() || hash->second != sha256_text(x.body)))
      return error("400 Bad Request", "XAmzContentSHA256Mismatch");
    const std::filesystem::path path{folder + "/" + x.path};
    std::filesystem::create_directories(path.parent_path());
    write_content(path.native(), x.body);
    return {"200 OK",
            "Date: " + now_text() + "\r\nETag: \"" + std::to_string(x.body.size()) + "-1\"\r\n"};
  }

  static std::string as_in_forms(const std::string& key) {
    auto text = percent_encoded(key, true);
    for (auto at = text.find("%20"); at != std::string::npos; at = text.find("%20", at))
      text.replace(at, 3, "+");
    return text;
  }

  fault_server::response list(const std::string& bucket, const parameter_map& how) const {
    if (!std::filesystem::is_directory(folder + "/" + bucket))
      return error("404 Not Found", "NoSuchBucket");
    const auto& prefix = how.at("prefix");
    std::map<std::string, std::uint64_t> found; // folders have size 0 and end with "/"
    for (const auto& x : std::filesystem::recursive_directory_iterator{folder + "/" + bucket}) {
      if (!x.is_regular_file())
        continue;
      const auto key = x.path().string().substr(folder.size() + bucket.size() + 2);
      if (!key.starts_with(prefix))
        continue;
      const auto slash = key.find('/', prefix.size());
      if (slash != std::string::npos)
        found[key.substr(0, slash + 1)] = 0;
      else
        found[key] = x.file_size();
    }
    const auto token = how.find("continuation-token");
    auto at = token == how.end() ? found.begin() : found.upper_bound(token->second);
    std::string body =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
        "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>";
    std::string last;
    for (std::size_t n = 0; n < names_per_page && at != found.end(); ++n, ++at) {
      last = at->first;
      const auto name = as_in_forms(last);
      body += last.ends_with('/') ? "<CommonPrefixes><Prefix>" + name + "</Prefix></CommonPrefixes>"
                                  : "<Contents><Key>" + name + "</Key><Size>"
                                        + std::to_string(at->second) + "</Size><ETag>&quot;"
                                        + std::to_string(at->second) + "-1&quot;</ETag></Contents>";
    }
    const bool is_cut = at != found.end();
    body += "<IsTruncated>" + std::string{is_cut ? "true" : "false"} + "</IsTruncated>";
    if (is_cut)
      body += "<NextContinuationToken>" + last + "</NextContinuationToken>";
    return {"200 OK", "Date: " + now_text() + "\r\n", body + "</ListBucketResult>"};
  }
};

} // namespace leat::test
