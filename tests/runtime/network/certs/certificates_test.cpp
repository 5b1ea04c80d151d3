#include "runtime/network/certs/certificate_files.hpp"
#include "runtime/network/certs/certificates.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/odd_certificates.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace leat::certificates_test {
namespace {

using namespace test;

constexpr std::int64_t day = 86'400;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

mode_t mode_of(const std::string& file) {
  struct stat x {};
  REQUIRE(::stat(file.c_str(), &x) == 0);
  return x.st_mode & 07777;
}

/// A directory with an authority.
struct site {
  site() { make_certificate_authority(at.path()); }

  /// Returns the new certificate's directory.
  std::string issue(const std::string& name,
                    const certificate_options& options = {.roles = {link_role::rank}}) {
    issue_certificate(at.path(), name, options);
    return at / name;
  }

  temporary_directory at;
};

std::string refusal(const std::string& directory, link_roles role = link_role::rank,
                    std::int64_t when = now()) {
  const auto problem = thrown_by([&] { certificates x(directory, role, when); });
  CHECK(problem.code() == errc::invalid_argument);
  return problem.what();
}

void expect_right(const std::string& directory, link_roles role = link_role::rank) {
  CHECK(certificates(directory, role, now()).roles().has_all(role));
}

} // namespace

TEST_CASE("certificates: those that leat issues are right, and their keys are their user's alone") {
  site x;
  const auto at = x.issue("rank", {.roles = {link_role::rank, link_role::coordinator},
                                   .hosts = {"Node1", "10.0.0.5", "fd00::5"}});
  CHECK(names_in(at) == std::set<std::string>{"ca.pem", "cert.pem", "key.pem"});
  CHECK(mode_of(at + "/key.pem") == 0600);
  CHECK(mode_of(x.at / "ca-key.pem") == 0600);
  CHECK(mode_of(at) == 0700);
  const certificates read(at, link_role::coordinator, now());
  CHECK(to_string(read.roles()) == "coordinator, rank");
  CHECK(std::abs(read.end() - now() - 365 * day) < 60);
  const auto leaf = std::move(read_certificates(at + "/cert.pem").front());
  CHECK(name_of(*leaf) == "\"rank\"");
  for (const auto* host : {"node1", "10.0.0.5", "fd00::5"})
    CHECK(is_of_host(*leaf, host));
  for (const auto* host : {"node2", "10.0.0.6", "rank", "fd00::6"})
    CHECK_FALSE(is_of_host(*leaf, host));
  const auto without = std::move(read_certificates(x.issue("any") + "/cert.pem").front());
  CHECK(is_of_host(*without, "node2"));
}

TEST_CASE(
    "certificates: an authority is never replaced, a certificate is when it is issued again") {
  site x;
  CHECK(has(thrown_by([&] { make_certificate_authority(x.at.path()); }).what(),
            "an authority that is there already"));
  const auto at = x.issue("rank");
  const auto before = content_of(at + "/cert.pem");
  expect_right(x.issue("rank"));
  CHECK(content_of(at + "/cert.pem") != before);
}

TEST_CASE("certificates: what cannot be issued is refused with what to do") {
  site x;
  for (const auto* name : {"", ".", "..", "a/b", "a b", ".hidden"})
    CHECK(has(thrown_by([&] { x.issue(name); }).what(), "1 to 64 letters"));
  CHECK(has(thrown_by([&] { x.issue(std::string(65, 'a')); }).what(), "1 to 64 letters"));
  CHECK(has(thrown_by([&] { x.issue("a", {}); }).what(), "no role"));
  CHECK(has(thrown_by([&] { x.issue("a", {.roles = {link_role::rank}, .days = 0}); }).what(),
            "1 to 3650 days"));
  CHECK(has(thrown_by([&] {
              x.issue("a", {.roles = {link_role::rank}, .hosts = {"a,URI:leat:coordinator"}});
            }).what(),
            "a name, an IPv4 or an IPv6 address"));
  CHECK(has(thrown_by([&] { parse_link_role("boss"); }).what(),
            "coordinator, rank, worker, observer"));
  CHECK(
      thrown_by([&] { issue_certificate(x.at / "none", "a", {.roles = {link_role::rank}}); }).code()
      == errc::not_found);
  // The authority's days are counted, too.
  const auto old = make_odd(nullptr, {.names = "", .to = 10 * day, .is_authority = true});
  write_content(x.at / "ca.pem", pem_of(old.certificate.get()));
  write_content(x.at / "ca-key.pem", pem_of(old.key.get()));
  CHECK(has(thrown_by([&] { x.issue("a"); }).what(), "whose validity ends on"));
  x.issue("a", {.roles = {link_role::rank}, .days = 9});
}

TEST_CASE("certificates: a missing or unreadable file is named") {
  site x;
  const auto at = x.issue("rank");
  for (const auto* file : {"/ca.pem", "/cert.pem", "/key.pem"}) {
    std::filesystem::rename(at + file, at + "/away");
    const auto missing = thrown_by([&] { certificates read(at, link_role::rank, now()); });
    CHECK(missing.code() == errc::not_found);
    CHECK(missing.details().file == at + file);
    write_content(at + file, "nothing\n");
    ::chmod((at + file).c_str(), 0600);
    CHECK(has(refusal(at), at + file));
    std::filesystem::rename(at + "/away", at + file);
  }
  expect_right(at);
  if (::geteuid() != 0) {
    ::chmod((at + "/key.pem").c_str(), 0);
    CHECK(thrown_by([&] { certificates read(at, link_role::rank, now()); }).code() == errc::io);
  }
}

TEST_CASE("certificates: a key that others may open is refused, and one of a group is not") {
  site x;
  const auto at = x.issue("rank");
  for (const mode_t mode : {0604, 0602, 0601, 0644}) {
    ::chmod((at + "/key.pem").c_str(), mode);
    const auto text = refusal(at);
    CHECK(has(text, "all users of this machine may open"));
    CHECK_FALSE(has(text, "PRIVATE"));
  }
  ::chmod((at + "/key.pem").c_str(), 0440);
  expect_right(at);
}

TEST_CASE("certificates: what does not fit together is refused") {
  site x;
  site other;
  const auto at = x.issue("rank");
  const auto another = x.issue("another");
  const auto theirs = other.issue("rank");
  const auto with = [&](const std::string& file, const std::string& from) {
    const auto kept = content_of(at + file);
    write_content(at + file, content_of(from + file));
    const auto text = refusal(at);
    write_content(at + file, kept);
    return text;
  };
  CHECK(has(with("/key.pem", another), "does not fit the certificate"));
  CHECK(has(with("/ca.pem", theirs), "not of the authority in ca.pem"));
  std::filesystem::copy_file(at + "/cert.pem", at + "/ca.pem",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(has(refusal(at), "not that of an authority"));
}

TEST_CASE("certificates: time and roles are looked at") {
  site x;
  const auto at = x.issue("rank", {.roles = {link_role::worker}, .days = 10});
  CHECK(has(refusal(at, link_role::rank), "whose roles are: worker"));
  CHECK(has(refusal(at, {link_role::worker, link_role::rank}), "for this process: rank, worker"));
  CHECK(has(refusal(at, link_role::worker, now() + 11 * day), "has ended"));
  CHECK(has(refusal(at, link_role::worker, now() - day), "not valid yet"));
  const auto root = make_odd(nullptr, {.names = "", .is_authority = true});
  const auto leaf = make_odd(&root, {});
  write_identity(x.at / "leaf", root.certificate.get(), make_odd(&leaf, {}),
                 pem_of(leaf.certificate.get()));
  CHECK(has(refusal(x.at / "leaf"), "not of the authority in ca.pem"));
  // What others issue is as good: of an authority below the one in ca.pem, and with other names.
  const auto middle = make_odd(&root, {.names = "", .is_authority = true});
  write_identity(x.at / "chain", root.certificate.get(),
                 make_odd(&middle, {.names = "URI:spiffe://x/y,URI:leat:boss,URI:leat:rank"}),
                 pem_of(middle.certificate.get()));
  expect_right(x.at / "chain");
  write_identity(x.at / "none", root.certificate.get(), make_odd(&root, {.names = ""}));
  CHECK(has(refusal(x.at / "none"), "whose roles are: none"));
}

TEST_CASE("certificates: a key with a passphrase is refused, and nobody is asked for it") {
  const auto root = make_odd(nullptr, {.names = "", .is_authority = true});
  const auto own = make_odd(&root, {});
  temporary_directory at;
  write_identity(at.path(), root.certificate.get(), own);
  write_content(at / "key.pem", pem_of(own.key.get(), "secret"));
  const auto text = refusal(at.path());
  CHECK(has(text, "a private key with a passphrase"));
}

TEST_CASE("certificates: new ones are taken when they are right, and told when they are wrong") {
  site x;
  const auto at = x.issue("rank");
  heard_notices heard;
  renewed_certificates all(at, link_role::rank, now());
  const auto first = all.at(now());
  CHECK(all.at(now()) == first);
  x.issue("rank");
  const auto second = all.at(now());
  CHECK(second != first);
  CHECK(heard.number() == 0);
  write_content(at + "/cert.pem", "nothing");
  CHECK(all.at(now()) == second);
  CHECK(all.at(now()) == second);
  REQUIRE(heard.number() == 1);
  CHECK(has(heard.texts()[0], "the old ones stay in use"));
  CHECK(has(heard.texts()[0], at + "/cert.pem"));
  std::filesystem::remove_all(at);
  CHECK(all.at(now()) == second);
  CHECK(heard.number() == 2);
  x.issue("rank");
  CHECK(all.at(now()) != second);
  // Not the content, but the mode was wrong.
  ::chmod((at + "/key.pem").c_str(), 0644);
  const auto third = all.at(now());
  CHECK(heard.number() == 3);
  ::chmod((at + "/key.pem").c_str(), 0600);
  CHECK(all.at(now()) != third);
  CHECK(heard.number() == 3);
}

TEST_CASE("certificates: their end is told from 30 days ahead on, once a day") {
  site x;
  const auto at = x.issue("rank", {.roles = {link_role::rank}, .days = 60});
  heard_notices heard;
  renewed_certificates all(at, link_role::rank, now());
  const auto told_at = [&](std::int64_t days) {
    const auto before = heard.number();
    all.at(now() + days * day);
    return heard.number() - before;
  };
  CHECK(told_at(29) == 0);
  CHECK(told_at(31) == 1);
  CHECK(told_at(31) == 0);
  CHECK(told_at(32) == 1);
  CHECK(has(heard.texts().back(), "replace it before that"));
  CHECK(told_at(61) == 1);
  CHECK(has(heard.texts().back(), " ended on "));
  x.issue("rank");
  CHECK(told_at(1) == 0);
}

} // namespace leat::certificates_test
