#pragma once

#include "runtime/storage/remote/request_signer.hpp"

#include <leat/remote_options.hpp>

#include <functional>
#include <memory>
#include <string>

namespace leat {

/// Where the Hub is, and who asks.
struct hub_service {
  std::string endpoint = {};
  std::shared_ptr<request_signer> signer = {};
};

/// The endpoint and token of the options, or HF_ENDPOINT and HF_TOKEN, or else the token that a
/// login has left (HF_TOKEN_PATH, HF_HOME/token, ~/.cache/huggingface/token), unless
/// HF_HUB_DISABLE_IMPLICIT_TOKEN is 1, ON, YES or TRUE, by which neither is shown. An endpoint of
/// the options gets no token but theirs. Where the Hub sends requests on to another host, the token
/// is not sent. Throws `errc::invalid_argument`.
hub_service find_hub_service(const std::function<std::string(const char*)>& variable,
                             const remote_options& chosen = {});

/// By this process's environment.
hub_service process_hub_service(const remote_options& chosen);

} // namespace leat
