#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Bytes of an object, without the end.
struct byte_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const noexcept { return end - begin; }
  friend bool operator==(const byte_range&, const byte_range&) = default;
};

/// What distinguishes a version of a remote object: its size, and what its server says about its
/// content. Learned once, and compared with every later response.
struct object_pin {
  enum class kind : std::uint8_t {
    /// The server names no version, or only ones that need not differ.
    none,
    etag,
    last_modified,
  };

  std::uint64_t size = 0;
  kind is = kind::none;
  std::string validator = {};

  friend bool operator==(const object_pin&, const object_pin&) = default;
};

/// The headers of a response, as far as leat looks at them.
struct http_head {
  /// 0 before the status line.
  int status = 0;
  std::optional<std::uint64_t> content_length = {};
  /// From Content-Range; `total` also if there is no range in it ("bytes */5").
  std::optional<byte_range> range = {};
  std::optional<std::uint64_t> total = {};
  std::string etag = {};
  std::string last_modified = {};
  std::string content_encoding = {};
  std::string location = {};
  std::string retry_after = {};
  std::string date = {};
  std::string request_id = {};
  /// Named by S3 where it refuses or redirects a request.
  std::string bucket_region = {};
  /// A header that must be unique came twice with different values, or is no number where one must
  /// be.
  bool is_damaged = false;

  /// Takes one line of a response's head, with or without its line end. A status line begins anew.
  void add_line(std::string_view line);

  /// The version that it names, of an object of `size` bytes. A weak ETag counts as none.
  object_pin pin(std::uint64_t size) const;
};

/// What to do about a response's head.
struct http_verdict {
  enum class kind : std::uint8_t {
    /// Its body is what was asked for: `range` of an object of which `pin` is true.
    good,
    /// It says nothing about the object: the server was busy or failed.
    busy,
    /// It contradicts itself, or what was asked for.
    wrong,
    /// The object has no byte there.
    beyond,
    /// Another version than the one that was pinned.
    changed,
    /// `http_head::location` has it.
    elsewhere,
    not_found,
    refused,
  };

  kind is = kind::wrong;
  byte_range range = {};
  object_pin pin = {};
  /// What came, and what was needed, in words.
  std::string got = {};
  std::string needed = {};
};

/// Judges a response to a request for `asked`, which is not empty, before any of its body is used.
/// Without a pin, the object may end inside `asked`.
http_verdict judge(const http_head& head, const byte_range& asked,
                   const std::optional<object_pin>& pin);

/// The server's time in its response, in seconds since 1970. Nothing if it does not say.
std::optional<std::int64_t> server_time(const http_head& head);

/// How long a server wants to be left alone, in seconds, by its Retry-After: a number, or a date
/// that is compared with the response's own. At most 300. Nothing if it does not say.
std::optional<double> wait_asked_for(const http_head& head);

} // namespace leat
