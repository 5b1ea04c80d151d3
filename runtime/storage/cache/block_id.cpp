#include "runtime/storage/cache/block_id.hpp"

#include "runtime/base/framed_bytes.hpp"

#include <openssl/evp.h>

#include <charconv>
#include <cstring>
#include <new>

namespace leat {

namespace {

constexpr std::string_view block_suffix = ".block";
constexpr std::string_view part_suffix = ".part";
constexpr std::size_t key_digits = 32;

void append_sized(std::string& to, std::string_view text) {
  append_little_endian(to, std::uint64_t{text.size()});
  to += text;
}

} // namespace

std::optional<hash128> block_key(std::string_view server, std::string_view name,
                                 const object_pin& pin) {
  using kind = object_pin::kind;
  if ((pin.is != kind::etag && pin.is != kind::generation) || pin.validator.empty())
    return {};
  std::string all;
  append_sized(all, pin.is == kind::etag ? "leat block" : "leat block of a generation");
  append_sized(all, server);
  append_sized(all, name);
  append_sized(all, pin.validator);
  append_little_endian(all, pin.size);
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (::EVP_Digest(all.data(), all.size(), digest, nullptr, ::EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc{};
  hash128 key;
  std::memcpy(&key, digest, sizeof key);
  return key;
}

std::string folder_of(const block_id& x) {
  return to_string(x.key).substr(0, 2);
}

std::string name_of(const block_name& x) {
  return to_string(x.id.key) + "-" + std::to_string(x.id.index)
         + std::string{x.is_part ? part_suffix : block_suffix};
}

std::optional<block_name> parse_block_name(std::string_view text) {
  const auto key = parse_hash128(text.substr(0, key_digits));
  if (!key || text.size() <= key_digits)
    return {};
  block_name x{.id = {.key = *key}};
  x.is_part = text.ends_with(part_suffix);
  const auto* const end = text.data() + text.size();
  (void)std::from_chars(text.data() + key_digits + 1, end, x.id.index);
  // Another spelling of the same name is no file of ours.
  return name_of(x) == text ? std::optional{x} : std::nullopt;
}

} // namespace leat
