#include "runtime/network/links/link_hello.hpp"

#include "runtime/network/certs/peer_certificate.hpp"

#include <wire/link.pb.h>

#include <algorithm>

namespace leat {

namespace {

constexpr std::size_t longest_version = 64;
constexpr std::size_t longest_refusal = 2048;

bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char x) { return x >= ' ' && x <= '~'; });
}

/// It goes to a terminal, and who sent it is not always known.
bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char x) { return static_cast<unsigned char>(x) < ' ' || x == '\x7f'; });
}

bool is_version(std::string_view text) {
  return text.size() <= longest_version && is_plain_text(text);
}

std::optional<link_role> role_numbered(std::uint32_t x) {
  return x < all_link_roles.size() ? std::optional{static_cast<link_role>(x)} : std::nullopt;
}

template <class Message>
std::optional<Message> parsed_link(std::string_view bytes) {
  Message x;
  if (bytes.size() > INT32_MAX || !x.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::nullopt;
  return x;
}

std::string protocol_text(std::uint32_t least, std::uint32_t newest, const std::string& version) {
  return (version.empty() ? "leat of an unknown version" : "leat " + version) + " (protocol "
         + std::to_string(least) + (least == newest ? "" : " to " + std::to_string(newest)) + ")";
}

} // namespace

std::string own_version() {
  return LEAT_VERSION;
}

std::string encode(const link_hello& x) {
  wire::LinkHello to;
  to.set_least_protocol(x.least_protocol);
  to.set_protocol(x.protocol);
  to.set_version(x.version);
  to.set_role(static_cast<std::uint32_t>(x.role.value()));
  const auto token = x.token.reveal();
  to.set_token(token.data(), token.size());
  return to.SerializeAsString();
}

std::string encode(const link_welcome& x) {
  wire::LinkWelcome to;
  to.set_protocol(x.protocol);
  to.set_version(x.version);
  to.set_role(static_cast<std::uint32_t>(x.role.value()));
  return to.SerializeAsString();
}

std::string encode(const link_refusal& x) {
  wire::LinkRefusal to;
  to.set_reason(static_cast<std::uint32_t>(x.reason));
  to.set_text(x.text);
  return to.SerializeAsString();
}

std::optional<link_hello> decode_link_hello(std::string_view bytes) {
  auto from = parsed_link<wire::LinkHello>(bytes);
  if (!from || !is_version(from->version()) || from->least_protocol() > from->protocol())
    return std::nullopt;
  link_hello x{.least_protocol = from->least_protocol(),
               .protocol = from->protocol(),
               .version = from->version(),
               .role = role_numbered(from->role()),
               .token = secret{from->token()}};
  wipe(from->mutable_token()->data(), from->token().size());
  return x;
}

std::optional<link_welcome> decode_link_welcome(std::string_view bytes) {
  const auto from = parsed_link<wire::LinkWelcome>(bytes);
  if (!from || !is_version(from->version()))
    return std::nullopt;
  return link_welcome{from->protocol(), from->version(), role_numbered(from->role())};
}

std::optional<link_refusal> decode_link_refusal(std::string_view bytes) {
  const auto from = parsed_link<wire::LinkRefusal>(bytes);
  if (!from || from->reason() > UINT8_MAX || from->text().size() > longest_refusal
      || has_control(from->text()))
    return std::nullopt;
  return link_refusal{static_cast<refusal_reason>(from->reason()), from->text()};
}

std::optional<link_refusal> fault_of_protocol(const link_hello& x, std::uint32_t least,
                                              std::uint32_t newest, const std::string& version) {
  if (x.protocol >= least && x.least_protocol <= newest)
    return std::nullopt;
  const bool is_old = x.protocol < least;
  return link_refusal{is_old ? refusal_reason::too_old : refusal_reason::too_new,
                      "this process has " + protocol_text(x.least_protocol, x.protocol, x.version)
                          + ", which is too " + (is_old ? "old" : "new")
                          + " for the process that it dialed, which has "
                          + protocol_text(least, newest, version)
                          + ": all processes of a job must have the same version"};
}

} // namespace leat
