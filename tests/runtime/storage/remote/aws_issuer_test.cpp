#include "runtime/storage/remote/aws/aws_issuer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/fault_server.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"

#include <condition_variable>
#include <mutex>

namespace leat::aws_issuer_test {
namespace {

using namespace leat::test;
using environment = std::map<std::string, std::string>;
using settings = std::map<std::string, std::string>;

constexpr std::int64_t in_2026 = 1795871109; // 2026-11-28T13:05:09Z
const std::string in_json = R"({"Version": 1, "AccessKeyId": "K", "SecretAccessKey": "S",
  "Token": "T", "Expiration": "2026-11-28T13:05:09Z"})";

std::optional<aws_issuer> found(const environment& x, const settings& profile = {}) {
  return find_aws_issuer(
      [&](const char* name) {
        const auto at = x.find(name);
        return at == x.end() ? std::string{} : at->second;
      },
      profile, "eu-west-1");
}

void check_issued(const std::optional<aws_issuer>& by) {
  REQUIRE(by);
  const auto x = by->issue();
  CHECK(x.are.access_key == "K");
  CHECK(x.are.secret_key.is("S"));
  CHECK(x.are.session_token.is("T"));
  CHECK(x.until == in_2026);
}

std::string header(const fault_server::request& x, const char* name) {
  const auto at = x.headers.find(name);
  return at == x.headers.end() ? std::string{} : at->second;
}

TEST_CASE("aws_issuer: times with fractions and offsets") {
  CHECK(seconds_of_time("2026-11-28T13:05:09Z") == in_2026);
  CHECK(seconds_of_time("2026-11-28T13:05:09.123456Z") == in_2026);
  CHECK(seconds_of_time("2026-11-28T15:05:09+02:00") == in_2026);
  CHECK(seconds_of_time("2026-11-28T12:35:09-00:30") == in_2026);
  for (const char* wrong :
       {"", "2026", "2026-11-28", "2026-11-28T13:05:09Zx", "2026-11-28T13:05:09+x"})
    CHECK_FALSE(seconds_of_time(wrong));
}

TEST_CASE("aws_issuer: what is no pair of keys is an error that shows none of it") {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"AccessKeyId": "PLANTED"})",
        R"({"AccessKeyId": "PLANTED", "SecretAccessKey": 5})",
        R"({"AccessKeyId": "K", "SecretAccessKey": "PLANTED", "Expiration": "x"})"}) {
    const auto problem = problem_of([&] { (void)issued_in_json(text, "the test"); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::io);
    CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
  }
  CHECK(problem_of([] { (void)issued_in_xml("<a/>", "the test"); })->code() == errc::io);
  CHECK_FALSE(issued_in_json(R"({"AccessKeyId": "K", "SecretAccessKey": "S"})", "").until);
}

TEST_CASE("aws_issuer: a program of the profile prints them") {
  const temporary_directory dir;
  write_content(dir / "answer", in_json);
  check_issued(found({}, {{"credential_process", "cat '" + (dir / "answer") + "'"}}));
  CHECK(problem_of([] {
          (void)found({}, {{"credential_process", "false"}})->issue();
        })->code()
        == errc::io);
}

TEST_CASE("aws_issuer: the role of a container, by a token that is read anew each time") {
  const temporary_directory dir;
  fault_server server{dir.path()};
  server.service = [](const auto& x) -> std::optional<fault_server::response> {
    if (x.target != "/role" || header(x, "Authorization") != "second")
      return fault_server::response{"403 Forbidden"};
    return fault_server::response{"200 OK", "", in_json};
  };
  write_content(dir / "token", "first\n");
  const auto by = found({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url("role")},
                         {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", dir / "token"}});
  check_error([&] { (void)by->issue(); }, {.code = errc::io, .got = "HTTP status 403"});
  write_content(dir / "token", "second\n");
  check_issued(by);
}

TEST_CASE("aws_issuer: the role of a machine, by a token of its metadata service") {
  const temporary_directory dir;
  fault_server server{dir.path()};
  server.service = [](const auto& x) -> std::optional<fault_server::response> {
    if (x.target == "/latest/api/token"
        && !header(x, "X-aws-ec2-metadata-token-ttl-seconds").empty())
      return fault_server::response{"200 OK", "", "TOKEN"};
    if (header(x, "X-aws-ec2-metadata-token") != "TOKEN")
      return fault_server::response{"401 Unauthorized"};
    if (x.target == "/latest/meta-data/iam/security-credentials/")
      return fault_server::response{"200 OK", "", "training\n"};
    if (x.target == "/latest/meta-data/iam/security-credentials/training")
      return fault_server::response{"200 OK", "", in_json};
    return fault_server::response{"404 Not Found"};
  };
  check_issued(found({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.address()}}));
  CHECK_FALSE(found({{"AWS_EC2_METADATA_DISABLED", "true"}}));
}

TEST_CASE("aws_issuer: the web identity of a pod") {
  const temporary_directory dir;
  write_content(dir / "token", "a.b+c/d=\n");
  fault_server server{dir.path()};
  server.service = [](const auto& x) -> std::optional<fault_server::response> {
    for (const char* part : {"Action=AssumeRoleWithWebIdentity", "RoleArn=arn:aws:iam::1:role/r",
                             "RoleSessionName=leat", "WebIdentityToken=a.b+c/d="})
      if (fault_server::decoded(x.target).find(part) == std::string::npos)
        return fault_server::response{"400 Bad Request"};
    return fault_server::response{
        "200 OK", "",
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>K</AccessKeyId>"
        "<SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
        "<Expiration>2026-11-28T13:05:09Z</Expiration></Credentials>"
        "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"};
  };
  check_issued(found({{"AWS_WEB_IDENTITY_TOKEN_FILE", dir / "token"},
                      {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                      {"AWS_ENDPOINT_URL_STS", server.address()}}));
}

/// Issues credentials for 1,000 s from a time that it is told, one pair after the other.
class counting_issuer {
public:
  aws_issuer issuer() {
    return {.source = "the test", .issue = [this] {
              const std::lock_guard lock{mutex_};
              ++issued_;
              changed_.notify_all();
              if (fails_)
                throw error(errc::io, {.stage = "test"});
              return issued_credentials{{"K" + std::to_string(issued_), secret{"S"}}, now_ + 1000};
            }};
  }
  void at(std::int64_t now, bool fails = false) {
    const std::lock_guard lock{mutex_};
    now_ = now;
    fails_ = fails;
  }
  void wait_for(int n) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return issued_ >= n; });
  }
  int issued() {
    const std::lock_guard lock{mutex_};
    return issued_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int issued_ = 0;
  std::int64_t now_ = 0;
  bool fails_ = false;
};

/// The key, once it is this one: the thread that renews may need a while.
bool becomes(aws_keeper& x, std::int64_t time, const std::string& key) {
  for (int i = 0; i < 1'000'000; ++i) {
    if (x.current(time).access_key == key)
      return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_CASE("aws_keeper: credentials are renewed before they expire, in another thread") {
  counting_issuer by;
  aws_keeper x{by.issuer()};
  CHECK(x.current(0).access_key == "K1");
  CHECK(x.current(399).access_key == "K1"); // 601 s before
  CHECK(by.issued() == 1);
  by.at(701);
  (void)x.current(701); // 299 s before
  by.wait_for(2);
  CHECK(becomes(x, 702, "K2"));
  CHECK(by.issued() == 2);
}

TEST_CASE(
    "aws_keeper: while nobody issues others the old ones are used, and somebody is asked again") {
  counting_issuer by;
  aws_keeper x{by.issuer()};
  by.at(701, true);
  CHECK(x.current(701).access_key == "K1");
  by.wait_for(2);
  CHECK(x.current(705).access_key == "K1");
  by.at(712);
  CHECK(becomes(x, 712, "K3"));
}

TEST_CASE("aws_keeper: one for all who ask the same, and nobody who does not answer twice") {
  counting_issuer by;
  auto usual = by.issuer();
  usual.key = "test one for all";
  const auto x = keeper_for(usual);
  CHECK(keeper_for(usual) == x);
  CHECK(by.issued() == 1);
  by.at(0, true);
  auto missing = by.issuer();
  missing.key = "test nobody";
  CHECK_THROWS_AS(keeper_for(missing), error);
  missing.may_be_missing = true;
  CHECK_FALSE(keeper_for(missing));
  CHECK_FALSE(keeper_for(missing));
  CHECK(by.issued() == 3);
}

TEST_CASE("aws_keeper: what is opened again within a minute is asked by the same credentials") {
  counting_issuer by;
  auto usual = by.issuer();
  usual.key = "test opened again";
  for (int i = 0; i < 3; ++i)
    CHECK(keeper_for(usual)->current(0).access_key == "K1");
  CHECK(by.issued() == 1);
}

TEST_CASE("aws_keeper: keys that are issued with little time left are not renewed at each use") {
  counting_issuer by;
  {
    aws_keeper x{by.issuer()};
    (void)x.current(701);
    by.wait_for(2);
    CHECK(becomes(x, 702, "K2")); // until 1000, as the first ones
    for (int time = 703; time < 711; ++time)
      CHECK(x.current(time).access_key == "K2");
    x.renew(710);
  } // its last thread has ended
  CHECK(by.issued() == 2);
}

TEST_CASE("aws_keeper: what a service refuses is renewed at once") {
  counting_issuer by;
  aws_keeper x{by.issuer()};
  x.renew(5);
  by.wait_for(2);
  CHECK(becomes(x, 6, "K2"));
}

} // namespace
} // namespace leat::aws_issuer_test
