#pragma once

#include "runtime/storage/remote/aws/aws_issuer.hpp"
#include "runtime/storage/remote/aws/aws_settings.hpp"
#include "runtime/storage/remote/aws/aws_signature.hpp"
#include "runtime/storage/remote/request_signer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// Signs requests to S3, by a clock that is corrected where the server says that it is wrong.
class s3_signer final : public request_signer {
public:
  /// `keeper`: of credentials that are issued; null if there are others, or none.
  s3_signer(aws_settings by, std::shared_ptr<aws_keeper> keeper)
      : by_(std::move(by)), keeper_(std::move(keeper)) {}

  std::vector<std::string> headers_for(std::string_view url, std::int64_t time) const override;
  std::vector<std::string> headers_of_put(std::string_view url, const std::string& body_hash,
                                          std::int64_t time) const override;
  answer refused(std::string_view code, std::int64_t server_time, std::int64_t time) override;
  std::string who() const override;
  std::string advice() const override;

private:
  std::vector<std::string> lines_for(aws_request asked, std::int64_t time) const;

  const aws_settings by_;
  const std::shared_ptr<aws_keeper> keeper_;
  /// Seconds that the server's clock is ahead of this machine's.
  std::atomic<std::int64_t> skew_{0};
};

} // namespace leat
