#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/remote/range_fetch.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// How a request ended.
struct web_outcome {
  enum class kind : std::uint8_t {
    complete,
    /// It is to be made again, elsewhere or for the rest.
    again,
    elsewhere,
    failed,
  };

  kind is = kind::again;
  /// How many were of use.
  std::uint64_t bytes = 0;
  /// The response contradicted the request.
  bool is_wrong = false;
  /// The server has too many requests.
  bool is_too_many = false;
  errc code = errc::io;
  std::string got = {};
  std::string needed = {};
};

/// Whether libcurl's result is a failure that no later request mends.
bool is_final_failure(int result) noexcept;

/// One HTTP request for a part of a fetch, over libcurl: judges the head of the response, and puts
/// its body in its place. A second request for the same bytes keeps them until they are all there,
/// since the first may still write.
class web_request : not_copied {
public:
  web_request(const byte_range& asked, bool is_second);
  ~web_request();

  /// Makes the handle ready for curl_multi_add_handle. Throws std::bad_alloc.
  void prepare(const std::string& url, const std::optional<object_pin>& pin,
               std::chrono::milliseconds connect, std::chrono::seconds stall, range_fetch& fetch);
  void* handle() const noexcept { return handle_; }
  bool is_second() const noexcept { return is_second_; }
  const http_head& head() const noexcept { return head_; }

  /// In nanoseconds.
  struct durations {
    /// From the request to the first byte of its answer.
    std::int64_t to_answer = 0;
    /// Of its connection, as that was made; 0 if it was there before.
    std::int64_t round_trip = 0;
  };
  durations times() const noexcept;
  /// When the head of the response was there, in seconds since 1970: its body may take long.
  std::int64_t answered_at() const noexcept { return answered_at_; }

  /// The transfer has ended; `result` is libcurl's.
  web_outcome finish(int result, range_fetch& fetch);
  /// Where the response sends the request; nothing if that is not allowed.
  std::optional<std::string> redirect_target() const;

private:
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size, void* self) noexcept;
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t size, void* self) noexcept;
  void take_header(std::string_view line);
  bool take_body(std::span<const std::byte> bytes);
  web_outcome outcome_of_verdict(std::uint64_t bytes) const;
  std::string failure_text(int result) const;

  void* handle_;
  void* headers_ = nullptr;
  const byte_range asked_;
  /// The URL, which the object may have left since.
  std::string asked_at_;
  const bool is_second_;
  range_fetch* fetch_ = nullptr;
  http_head head_;
  std::int64_t answered_at_ = 0;
  /// Once the head is complete.
  std::optional<http_verdict> verdict_;
  /// Bytes of the body that are in their place, or kept.
  std::uint64_t got_ = 0;
  bool has_too_many_ = false;
  std::vector<std::byte> kept_;
  /// The beginning of the body of an error.
  std::string error_body_;
  std::vector<char> curl_text_;
};

} // namespace leat
