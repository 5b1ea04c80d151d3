#pragma once

#include "runtime/base/secret.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/credential_keeper.hpp"
#include "runtime/storage/remote/request_signer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

using token_keeper = credential_keeper<secret>;
using token_issuer = issuer_of<secret>;

/// Shows a token to one service, and to no other that it redirects to.
class bearer_signer final : public request_signer {
public:
  struct facts {
    /// "https://HOST": of the service that gets the token.
    std::string origin = {};
    /// The token, or who keeps one that expires; neither: requests have none.
    secret token = {};
    std::shared_ptr<token_keeper> keeper = {};
    /// Further lines for that service.
    std::vector<std::string> headers = {};
    bool follows_redirects = false;
    /// Whose token it is, where nobody keeps it.
    std::string who = {};
    /// For errors: what is needed where the service refuses.
    std::string advice = {};
  };
  explicit bearer_signer(facts x) : facts_(std::move(x)) {}

  std::vector<std::string> headers_for(std::string_view url, std::int64_t time) const override;
  answer refused(std::string_view code, std::int64_t server_time, std::int64_t time) override;
  bool follows_redirects() const noexcept override { return facts_.follows_redirects; }
  std::string who() const override {
    return facts_.keeper             ? facts_.keeper->source()
           : facts_.token.is_empty() ? std::string{}
                                     : facts_.who;
  }
  std::string advice() const override { return facts_.advice; }

private:
  const facts facts_;
  mutex mutex_;
  /// The token that was refused last, when that began, and when it last was.
  secret refused_ LEAT_GUARDED_BY(mutex_);
  std::int64_t since_ LEAT_GUARDED_BY(mutex_) = 0;
  std::int64_t last_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
