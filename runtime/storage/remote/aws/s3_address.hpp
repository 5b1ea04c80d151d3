#pragma once

#include "runtime/storage/remote/aws/aws_settings.hpp"

#include <string>

namespace leat {

/// An object of S3, or a folder of objects, by its name: "s3://BUCKET/KEY", also written "s3a://";
/// or of Google's: "gs://BUCKET/KEY", also written "gcs://". A key is taken as it is, nothing in it
/// is percent-encoded.
class s3_address {
public:
  /// Throws `errc::invalid_argument` with this `stage`.
  s3_address(const std::string& name, const std::string& stage);

  const std::string& bucket() const noexcept { return bucket_; }
  const std::string& key() const noexcept { return key_; }
  std::string name() const { return scheme_ + "://" + bucket_ + "/" + key_; }

  /// Where the bucket is asked for: "https://BUCKET.s3.REGION.amazonaws.com", or "ENDPOINT/BUCKET",
  /// unless the settings want it in the other place.
  std::string place(const aws_settings& at) const;
  /// Asks for the object.
  std::string url(const aws_settings& at) const;
  /// Asks the bucket, with these parameters.
  std::string url(const aws_settings& at, const std::string& query) const;

private:
  std::string scheme_;
  std::string bucket_;
  std::string key_;
};

} // namespace leat
