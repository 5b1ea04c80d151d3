#include "runtime/storage/remote/aws/aws_settings.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"

namespace leat::aws_settings_test {
namespace {

using namespace leat::test;
using environment = std::map<std::string, std::string>;

aws_settings settings_of(const environment& x, const remote_options& chosen = {}) {
  const auto variable = [&](const char* name) {
    const auto at = x.find(name);
    return at == x.end() ? std::string{} : at->second;
  };
  return read_aws_settings(variable, chosen);
}

struct home {
  temporary_directory dir;

  home() { std::filesystem::create_directory(dir / ".aws"); }
  void write(const std::string& name, const std::string& text) const {
    write_content(dir / (".aws/" + name), text);
  }
};

TEST_CASE("aws_settings: keys, region and endpoint of the environment") {
  const auto x = settings_of({{"AWS_ACCESS_KEY_ID", "K"},
                              {"AWS_SECRET_ACCESS_KEY", "S"},
                              {"AWS_SESSION_TOKEN", "T"},
                              {"AWS_DEFAULT_REGION", "eu-west-1"},
                              {"AWS_ENDPOINT_URL", "https://one"},
                              {"AWS_ENDPOINT_URL_S3", "https://two:9000/"}});
  REQUIRE(x.credentials);
  CHECK(x.credentials->access_key == "K");
  CHECK(x.credentials->secret_key.is("S"));
  CHECK(x.credentials->session_token.is("T"));
  CHECK(x.region == "eu-west-1");
  CHECK(x.endpoint == "https://two:9000");
}

TEST_CASE("aws_settings: options count before the environment and its files") {
  const home at;
  at.write("credentials", "[mine]\naws_access_key_id=P\naws_secret_access_key=PS\n");
  const environment around{{"HOME", at.dir.path()},        {"AWS_ACCESS_KEY_ID", "K"},
                           {"AWS_SECRET_ACCESS_KEY", "S"}, {"AWS_SESSION_TOKEN", "T"},
                           {"AWS_REGION", "eu-west-1"},    {"AWS_ENDPOINT_URL", "https://one"}};
  remote_options chosen;
  chosen.endpoint = "https://mine/";
  chosen.region = "r";
  chosen.access_key = "O";
  chosen.secret_key = secret{"OS"};
  chosen.bucket_in = bucket_place::host;
  const auto x = settings_of(around, chosen);
  CHECK(x.endpoint == "https://mine");
  CHECK(x.region == "r");
  CHECK(x.bucket_in == bucket_place::host);
  REQUIRE(x.credentials);
  CHECK(x.credentials->access_key == "O");
  CHECK(x.credentials->secret_key.is("OS"));
  CHECK(x.credentials->session_token.is_empty());

  remote_options profile;
  profile.profile = "mine";
  profile.requester_pays = true;
  const auto y = settings_of(around, profile);
  REQUIRE(y.credentials);
  CHECK(y.credentials->access_key == "P");
  CHECK(y.requester_pays);
  CHECK(y.endpoint == "https://one");

  at.write("config", "[profile program]\ncredential_process = cat /none\n");
  environment pod{{"HOME", at.dir.path()},
                  {"AWS_WEB_IDENTITY_TOKEN_FILE", "/none"},
                  {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                  {"AWS_PROFILE", "program"}};
  const auto source_of = [](const aws_settings& found) {
    return found.issuer ? found.issuer->source : "nobody";
  };
  CHECK(source_of(settings_of(pod)) == "the web identity of AWS_ROLE_ARN");
  profile.profile = "program";
  CHECK(source_of(settings_of(pod, profile)) == "credential_process");

  const auto z = settings_of(around, {.anonymous = true});
  CHECK_FALSE(z.credentials);
  CHECK_FALSE(z.issuer);
}

TEST_CASE("aws_settings: without any of them requests are not signed") {
  const home at;
  const auto x = settings_of({{"HOME", at.dir.path()}});
  CHECK_FALSE(x.credentials);
  CHECK(x.region == "us-east-1");
  CHECK(x.endpoint.empty());
}

TEST_CASE("aws_settings: a profile of both files, of which credentials count first") {
  const home at;
  at.write("credentials", "# mine\n[default]\naws_access_key_id = D\naws_secret_access_key=DS\n"
                          "\n[other]\naws_access_key_id=O\r\naws_secret_access_key = O/S=\r\n"
                          "aws_session_token = OT\nregion = from-credentials\n");
  at.write("config", "[default]\nregion=eu-north-1\n[profile other]\nregion = ap-south-1\n"
                     "s3 =\n  region = nested\n  endpoint_url = nested\n"
                     "endpoint_url = https://buckets.example\n");
  const auto usual = settings_of({{"HOME", at.dir.path()}});
  REQUIRE(usual.credentials);
  CHECK(usual.credentials->access_key == "D");
  CHECK(usual.credentials->secret_key.is("DS"));
  CHECK(usual.credentials->session_token.is_empty());
  CHECK(usual.region == "eu-north-1");
  const auto other = settings_of({{"HOME", at.dir.path()}, {"AWS_PROFILE", "other"}});
  REQUIRE(other.credentials);
  CHECK(other.credentials->secret_key.is("O/S="));
  CHECK(other.credentials->session_token.is("OT"));
  CHECK(other.region == "from-credentials");
  CHECK(other.endpoint == "https://buckets.example");
  // Keys of the environment come first, also where a profile is chosen.
  const auto both = settings_of({{"HOME", at.dir.path()},
                                 {"AWS_PROFILE", "other"},
                                 {"AWS_ACCESS_KEY_ID", "K"},
                                 {"AWS_SECRET_ACCESS_KEY", "S"}});
  CHECK(both.credentials->access_key == "K");
  CHECK(both.endpoint == "https://buckets.example");
}

TEST_CASE("aws_settings: files in other places") {
  const home at;
  write_content(at.dir / "a", "[x]\naws_access_key_id=A\naws_secret_access_key=B\n");
  write_content(at.dir / "b", "[profile x]\nregion=r\n");
  const auto x = settings_of({{"AWS_PROFILE", "x"},
                              {"AWS_SHARED_CREDENTIALS_FILE", at.dir / "a"},
                              {"AWS_CONFIG_FILE", at.dir / "b"}});
  CHECK(x.credentials->access_key == "A");
  CHECK(x.region == "r");
}

TEST_CASE("aws_settings: what contradicts itself is refused, and no secret is shown") {
  const home at;
  at.write("credentials", "[half]\naws_access_key_id = K\n");
  const auto check = [&](environment x, const char* said) {
    x["HOME"] = at.dir.path();
    const auto problem = problem_of([&] { (void)settings_of(x); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    const std::string_view text{problem->what()};
    CAPTURE(text);
    CHECK(text.find(said) != std::string_view::npos);
    CHECK(text.find("PLANTED") == std::string_view::npos);
  };
  check({{"AWS_SECRET_ACCESS_KEY", "PLANTED"}},
        "only one half of a pair of keys in the environment");
  check({{"AWS_PROFILE", "half"}}, "only one half of a pair of keys in the profile \"half\"");
  check({{"AWS_PROFILE", "none"}}, "the profile \"none\"");
  check({{"AWS_ENDPOINT_URL", "ftp://x"}}, "the endpoint \"ftp://x\"");
  check({{"AWS_ENDPOINT_URL", "http://far.example"},
         {"AWS_ACCESS_KEY_ID", "K"},
         {"AWS_SECRET_ACCESS_KEY", "PLANTED"}},
        "which would show signed requests to everybody");
  CHECK(settings_of({{"AWS_ENDPOINT_URL", "http://far.example"}}).endpoint == "http://far.example");
  CHECK_FALSE(settings_of({{"AWS_ENDPOINT_URL", "http://far.example"}}).issuer);
  CHECK(settings_of({{"AWS_ENDPOINT_URL", "https://far.example"}}).issuer);
  check({{"AWS_ENDPOINT_URL", "http://far.example"},
         {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/role"}},
        "which would show signed requests to everybody");
  for (const char* here : {"http://127.0.0.1:9000", "http://localhost:1", "http://[::1]:8"})
    CHECK(settings_of({{"AWS_ENDPOINT_URL", here},
                       {"AWS_ACCESS_KEY_ID", "K"},
                       {"AWS_SECRET_ACCESS_KEY", "S"}})
              .endpoint
          == here);
}

} // namespace
} // namespace leat::aws_settings_test
