#pragma once

#include "runtime/network/certs/openssl.hpp"

#include <string>
#include <vector>

namespace leat {

// Reads what is in the files of a certificate directory. All throw `errc::not_found`, `errc::io` or
// `errc::no_resources` for a file that cannot be read, and `errc::invalid_argument`, which says
// what to do, for one whose content does not fit.

/// Throws `errc::invalid_argument`.
[[noreturn]] void refuse_certificate(const std::string& file, std::string got, std::string needed);

/// All certificates of a PEM file: at least one.
std::vector<openssl_ptr<X509>> read_certificates(const std::string& file);

/// The private key of a PEM file, which has to be that of `owner`. Refuses a key that other users
/// may read (mode & 0007), and one that needs a passphrase.
openssl_ptr<EVP_PKEY> read_key(const std::string& file, const X509& owner);

} // namespace leat
