#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/http_head.hpp"
#include "runtime/storage/remote/request_signer.hpp"

#include <leat/hash128.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

/// An object on a server, and what responses have said about it. Any thread.
class remote_object {
public:
  /// `server`: requests to one share connections. `signer`: null where anybody may read.
  remote_object(std::string name, std::string server, std::string url,
                std::shared_ptr<request_signer> signer = {})
      : name_(std::move(name)), server_(std::move(server)), url_(std::move(url)),
        signer_(std::move(signer)) {}

  const std::string& name() const noexcept { return name_; }
  const std::string& server() const noexcept { return server_; }
  /// Its own address, wherever a server may have sent requests.
  const std::string& url() const noexcept { return url_; }
  request_signer* signer() const noexcept { return signer_.get(); }

  /// The version that all reads are of; nothing before the first response.
  std::optional<object_pin> pin() const {
    const mutex_lock lock{mutex_};
    return pin_;
  }
  /// A version's name, and its bytes.
  struct named_version {
    hash128 key = {};
    std::uint64_t size = 0;
  };
  using version_namer = std::optional<hash128> (*)(std::string_view server, std::string_view name,
                                                   const object_pin& pin);
  /// The version's name, which `name` makes at the first call; all callers pass the same function.
  /// Nothing before the first response, and where `name` makes none.
  std::optional<named_version> named_by(version_namer name) const {
    const mutex_lock lock{mutex_};
    if (!pin_)
      return {};
    if (!is_named_) {
      if (const auto key = name(server_, name_, *pin_))
        named_ = {.key = *key, .size = pin_->size};
      is_named_ = true;
    }
    return named_;
  }
  /// The first one counts.
  void learn(object_pin x) {
    const mutex_lock lock{mutex_};
    if (!pin_)
      pin_ = std::move(x);
  }

  /// Where to ask: where the server sent the last request, or at the object's own address.
  std::string place() const {
    const mutex_lock lock{mutex_};
    return moved_to_.empty() ? url_ : moved_to_;
  }
  void move_to(std::string url) {
    const mutex_lock lock{mutex_};
    moved_to_ = std::move(url);
  }
  /// A request was refused where it was asked: `from`. Asks at the object's own address again,
  /// unless another request has done so since; false if `from` is that address.
  bool move_back(const std::string& from) {
    const mutex_lock lock{mutex_};
    if (moved_to_ == from)
      moved_to_.clear();
    return from != url_;
  }

private:
  const std::string name_;
  const std::string server_;
  const std::string url_;
  const std::shared_ptr<request_signer> signer_;
  mutable mutex mutex_;
  std::optional<object_pin> pin_ LEAT_GUARDED_BY(mutex_);
  mutable std::optional<named_version> named_ LEAT_GUARDED_BY(mutex_);
  mutable bool is_named_ LEAT_GUARDED_BY(mutex_) = false;
  std::string moved_to_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
