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
    /// A number that Google gives each version.
    generation,
  };

  std::uint64_t size = 0;
  kind is = kind::none;
  std::string validator = {};
  /// A manifest has said so, and no response yet.
  bool is_told = false;
  /// When it was written last, if the server says so, whatever else names the version: not every
  /// response has the same headers.
  std::string written = {};

  friend bool operator==(const object_pin&, const object_pin&) = default;
};

/// What a validator is, by its form: only an ETag has quotes, and a generation nothing but digits.
object_pin::kind kind_of_validator(std::string_view x) noexcept;

/// What services say of a request in headers of their own, for errors.
struct service_words {
  std::string request_id = {};
  /// A word for what went wrong.
  std::string error_code = {};
  /// Named by S3 where it refuses or redirects a request.
  std::string bucket_region = {};
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
  std::string generation = {};
  std::string last_modified = {};
  std::string content_encoding = {};
  std::string location = {};
  std::string retry_after = {};
  std::string date = {};
  std::string link = {};
  service_words service = {};
  /// A header that must be unique came twice with different values, or is no number where one must
  /// be.
  bool is_damaged = false;

  /// Takes one line of a response's head, with or without its line end. A status line begins anew.
  void add_line(std::string_view line);

  /// The version that it names, of an object of `size` bytes. A weak ETag counts as none.
  object_pin pin(std::uint64_t size) const;
  /// What it says of this kind; empty: nothing.
  std::string validator(object_pin::kind is) const;
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

/// Where another page of the answer is, by a header Link with rel="next"; empty if it has none.
std::string next_in_links(const http_head& head);

/// Whether a status says nothing but that the server is busy, or failed.
bool is_busy_status(int status) noexcept;

/// The text between <Code> and </Code> in the error of a service, if it is a plain word.
std::string service_code(std::string_view body);

/// The server's time in its response, in seconds since 1970. Nothing if it does not say.
std::optional<std::int64_t> server_time(const http_head& head);

/// How long a server wants to be left alone, in seconds, by its Retry-After: a number, or a date
/// that is compared with the response's own. At most 300. Nothing if it does not say.
std::optional<double> wait_asked_for(const http_head& head);

} // namespace leat
