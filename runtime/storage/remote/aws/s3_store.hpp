#pragma once

#include "runtime/storage/remote/aws/aws_settings.hpp"
#include "runtime/storage/remote/remote_store.hpp"
#include "runtime/storage/remote/request_signer.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Where buckets are, and who asks for what is in them.
struct bucket_service {
  aws_settings at = {};
  std::shared_ptr<request_signer> signer = {};
};

/// Objects of S3, and of what is like it, by their names: "s3://BUCKET/KEY". Settings are read anew
/// for each opening.
class s3_store final : public remote_store {
public:
  using settings_reader = std::function<aws_settings()>;
  using service_reader = std::function<bucket_service()>;

  /// See remote_store.
  explicit s3_store(settings_reader settings, transfer_pool* pool = nullptr,
                    cache_reader cache = {});
  /// `writing`: who puts objects, where that is somebody else than who reads them.
  explicit s3_store(service_reader service, transfer_pool* pool = nullptr, cache_reader cache = {},
                    service_reader writing = {})
      : remote_store(pool, std::move(cache)), service_(std::move(service)),
        writing_(std::move(writing)) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  void put(const std::string& name, std::span<const std::byte> bytes) const override;
  bool can_put() const noexcept override { return true; }
  std::string full_name(const std::string& name) const override;
  asked_server server_of(const std::string& name) const override;

private:
  const service_reader service_;
  const service_reader writing_;
};

} // namespace leat
