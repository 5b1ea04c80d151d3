#pragma once

#include "runtime/storage/remote/http_head.hpp"
#include "runtime/storage/remote/request_signer.hpp"
#include "runtime/storage/remote/transfers.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// What a response to a PUT means.
struct put_verdict {
  enum class kind : std::uint8_t {
    /// The object is there, whole.
    stored,
    /// The server was busy or failed: the object may be there or not, and is put again.
    busy,
    /// The response contradicts itself, or the bytes were damaged on their way.
    wrong,
    not_found,
    refused,
  };

  kind is = kind::refused;
  /// What came, and what was needed, in words.
  std::string got = {};
  std::string needed = {};
};

/// `code`: that of the service, if its response has one.
put_verdict judge_put(const http_head& head, std::string_view code);

/// Where an object is put, and who does it.
struct put_request {
  /// For errors.
  std::string name;
  std::string url;
  /// Null: nobody in particular.
  request_signer* signer = nullptr;
};

/// Makes or replaces an object, in one request that has all of its bytes; asks again as reads do,
/// which changes nothing where an earlier request was heard. Follows no redirect. Blocks, and asks
/// the caller's patience. Throws `errc::invalid_argument` for more than `most_put_bytes`,
/// `errc::not_found` if there is no such bucket, else `errc::io` with the object, the requests and
/// the time that they took, the status, the service's code and the number of the last request.
void put_object(const put_request& x, std::span<const std::byte> bytes,
                const transfer_settings& how);

} // namespace leat
