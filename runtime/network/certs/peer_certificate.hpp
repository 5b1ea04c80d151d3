#pragma once

#include "runtime/network/certs/openssl.hpp"

#include <leat/certificates.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace leat {

/// A set of roles.
class link_roles {
public:
  constexpr link_roles() = default;
  constexpr link_roles(link_role one) noexcept { add(one); }
  constexpr link_roles(std::initializer_list<link_role> all) noexcept {
    for (const auto x : all)
      add(x);
  }
  constexpr void add(link_role x) noexcept { bits_ |= bit(x); }
  constexpr bool has(link_role x) const noexcept { return (bits_ & bit(x)) != 0; }
  constexpr bool has_any(link_roles x) const noexcept { return (x.bits_ & bits_) != 0; }
  constexpr bool has_all(link_roles x) const noexcept { return (x.bits_ & ~bits_) == 0; }
  constexpr bool is_empty() const noexcept { return bits_ == 0; }

  friend bool operator==(link_roles, link_roles) = default;

private:
  static constexpr std::uint8_t bit(link_role x) noexcept {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(x));
  }

  std::uint8_t bits_ = 0;
};

inline constexpr std::array all_link_roles{link_role::coordinator, link_role::rank,
                                           link_role::worker, link_role::observer, link_role::feed};

/// "rank, worker"; "none"
std::string to_string(link_roles x);

/// How a certificate names a role: a URI among its names.
inline constexpr std::string_view role_scheme = "leat:";

/// The roles that a certificate names.
link_roles roles_of(const X509& x);

/// Whether somebody who dialed `host`, a name or an address, may have meant the owner of this
/// certificate: it names that host, or none at all.
bool is_of_host(const X509& x, const std::string& host);

/// For texts: the common name, in quotes, at most 40 bytes of it.
std::string name_of(const X509& x);

/// When its validity ends, in seconds since 1970.
std::int64_t end_of(const X509& x);

inline constexpr std::int64_t seconds_per_day = 86'400;

/// "2026-11-27 22:30 UTC"
std::string utc_text(std::int64_t seconds);

} // namespace leat
