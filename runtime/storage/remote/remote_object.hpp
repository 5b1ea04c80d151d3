#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/http_head.hpp"
#include "runtime/storage/remote/request_signer.hpp"

#include <memory>
#include <optional>
#include <string>
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
  request_signer* signer() const noexcept { return signer_.get(); }

  /// The version that all reads are of; nothing before the first response.
  std::optional<object_pin> pin() const {
    const mutex_lock lock{mutex_};
    return pin_;
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
  /// Asks at its own address again; false if it was asked there.
  bool move_back() {
    const mutex_lock lock{mutex_};
    return !std::exchange(moved_to_, {}).empty();
  }

private:
  const std::string name_;
  const std::string server_;
  const std::string url_;
  const std::shared_ptr<request_signer> signer_;
  mutable mutex mutex_;
  std::optional<object_pin> pin_ LEAT_GUARDED_BY(mutex_);
  std::string moved_to_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
