#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/aws_settings.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Objects of S3, and of what is like it, by their names: "s3://BUCKET/KEY". Settings are read anew
/// for each opening.
class s3_store final : public object_store {
public:
  using settings_reader = std::function<aws_settings()>;

  /// `pool`: null for the process's.
  explicit s3_store(settings_reader settings, transfer_pool* pool = nullptr)
      : settings_(std::move(settings)), pool_(pool) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  std::string full_name(const std::string& name) const override;

private:
  std::shared_ptr<transfers> open_transfers() const {
    return (pool_ ? *pool_ : process_transfers()).open();
  }

  const settings_reader settings_;
  transfer_pool* const pool_;
};

/// That of this process.
const s3_store& process_s3_store();

} // namespace leat
