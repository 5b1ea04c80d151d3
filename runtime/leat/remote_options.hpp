#pragma once

#include <leat/secret.hpp>

#include <cstdint>
#include <string>

namespace leat {

/// Where the name of a bucket stands in an address.
enum class bucket_place : std::uint8_t {
  /// Before Amazon's host; after the host of another endpoint, and if the name has a dot in it.
  automatic,
  /// https://HOST/BUCKET/KEY
  path,
  /// https://BUCKET.HOST/KEY
  host,
};

/// How servers are asked for data: for names that begin with "s3://",
/// "gs://" or "hf://". What is left as it is, is
/// looked for in the environment, where everybody looks (docs/remote.md). These options stand in no
/// text of a pipeline and in no snapshot.
struct remote_options {
  /// "https://HOST" or "https://HOST:PORT" of the service, if it is not Amazon's, Google's or
  /// Hugging Face's own.
  std::string endpoint = {};
  std::string region = {};
  /// The section of ~/.aws/credentials and ~/.aws/config.
  std::string profile = {};
  /// Requests are not signed, whatever keys there are.
  bool anonymous = false;
  /// The owner of the keys pays for requests and traffic, for buckets that want that.
  bool requester_pays = false;
  /// A pair of keys, and for keys that expire their token.
  std::string access_key = {};
  secret secret_key = {};
  secret session_token = {};
  /// A token that is shown in place of keys, where a service takes one: gs://, hf://.
  secret token = {};
  bucket_place bucket_in = bucket_place::automatic;
  /// Bytes that are read ahead of those who need them, at most. 0: 256 MiB, or what was given
  /// before. The process has one limit for all its sources: the one that was given last.
  std::uint64_t bytes_in_flight = 0;
  /// A directory where what is fetched is kept, for all processes of this machine that name it.
  /// Empty: that of LEAT_CACHE, or nothing is kept.
  std::string cache = {};
  /// Bytes that the cache may take, at most. 0: LEAT_CACHE_BYTES, or as many as the disk has, but
  /// for a reserve. Sources of one process that name one directory share its limit: the one that
  /// was given last.
  std::uint64_t cache_bytes = 0;
};

} // namespace leat
