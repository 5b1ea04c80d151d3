#include "runtime/network/certs/peer_certificate.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/network/ip_address.hpp"

#include <array>
#include <ctime>
#include <optional>

namespace leat {

namespace {

constexpr std::array<std::string_view, 5> role_names{"coordinator", "rank", "worker", "observer",
                                                     "feed"};

std::string_view bytes_in_string(const ASN1_STRING* x) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(x)),
          static_cast<std::size_t>(ASN1_STRING_length(x))};
}

std::optional<link_role> role_of(std::string_view text) {
  for (const auto x : all_link_roles)
    if (to_string(x) == text)
      return x;
  return std::nullopt;
}

/// Calls `see` for each of the certificate's names; ends once that returns true.
template <class See>
bool any_name(const X509& x, See see) {
  const openssl_ptr<GENERAL_NAMES> names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&x, NID_subject_alt_name, nullptr, nullptr))};
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i)
    if (see(*sk_GENERAL_NAME_value(names.get(), i)))
      return true;
  return false;
}

} // namespace

std::string_view to_string(link_role x) noexcept {
  return role_names.at(static_cast<std::size_t>(x));
}

link_role parse_link_role(std::string_view text) {
  const auto role = role_of(text);
  if (!role)
    refuse_argument("role", excerpt(text),
                    listed(all_link_roles, [](link_role x) { return to_string(x); }));
  return *role;
}

std::string to_string(link_roles x) {
  std::string text;
  for (const auto role : all_link_roles)
    if (x.has(role))
      (text += text.empty() ? "" : ", ") += to_string(role);
  return text.empty() ? "none" : text;
}

link_roles roles_of(const X509& x) {
  link_roles all;
  any_name(x, [&](const GENERAL_NAME& name) {
    if (name.type != GEN_URI)
      return false;
    const auto uri = bytes_in_string(name.d.uniformResourceIdentifier);
    if (uri.starts_with(role_scheme))
      if (const auto role = role_of(uri.substr(role_scheme.size())))
        all.add(*role);
    return false;
  });
  return all;
}

bool is_of_host(const X509& x, const std::string& host) {
  const bool names_hosts = any_name(
      x, [](const GENERAL_NAME& name) { return name.type == GEN_DNS || name.type == GEN_IPADD; });
  if (!names_hosts)
    return true;
  auto* const certificate = const_cast<X509*>(&x); // NOLINT: OpenSSL 3.0 has no const here
  if (const auto ip = parse_ip(host))
    return X509_check_ip(certificate, ip->bytes.data(), ip->family == ip_family::v4 ? 4 : 16, 0)
           == 1;
  return X509_check_host(certificate, host.data(), host.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
                         nullptr)
         == 1;
}

std::string name_of(const X509& x) {
  const auto* subject = X509_get_subject_name(&x);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0
             ? "(without a name)"
             : excerpt(bytes_in_string(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
}

std::int64_t end_of(const X509& x) {
  std::tm parts{};
  return ASN1_TIME_to_tm(X509_get0_notAfter(&x), &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string utc_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  std::array<char, 32> text{};
  if (!::gmtime_r(&time, &parts)
      || std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts) == 0)
    return "an unknown time";
  return text.data();
}

} // namespace leat
