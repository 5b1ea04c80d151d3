// Buckets of Google's: from a service that checks tokens, lists as S3 does and numbers versions.

#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/aws/s3_address.hpp"
#include "runtime/storage/remote/bearer_signer.hpp"
#include "runtime/storage/remote/google/google_issuer.hpp"
#include "runtime/storage/remote/google/google_jwt.hpp"
#include "runtime/storage/remote/google/google_service.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

namespace leat::google_test {
namespace {

using namespace leat::test;
using environment = std::map<std::string, std::string>;
using json = nlohmann::json;

auto reader_of(const environment& x) {
  return [x](const char* name) {
    const auto at = x.find(name);
    return at == x.end() ? std::string{} : at->second;
  };
}

std::string header(const fault_server::request& x, const char* name) {
  const auto at = x.headers.find(name);
  return at == x.headers.end() ? std::string{} : at->second;
}

/// The value of a parameter in a form that was sent.
std::string sent(const fault_server::request& x, const std::string& name) {
  const auto at = ("&" + x.body).find("&" + name + "=");
  if (at == std::string::npos)
    return {};
  const auto begin = at + name.size() + 1;
  return fault_server::decoded(x.body.substr(begin, x.body.find('&', begin) - begin));
}

fault_server::response token_answer(const std::string& token, int life = 3600) {
  return {"200 OK", "", json{{"access_token", token}, {"expires_in", life}}.dump()};
}

/// A pair of keys of RSA.
class rsa_keys {
public:
  rsa_keys() : keys_{::EVP_RSA_gen(2048), &::EVP_PKEY_free} {}

  std::string pem() const {
    const std::unique_ptr<BIO, int (*)(BIO*)> to{::BIO_new(::BIO_s_mem()), &::BIO_free};
    ::PEM_write_bio_PrivateKey(to.get(), keys_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const auto size = BIO_get_mem_data(to.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  bool have_signed(std::string_view text, std::string_view signature) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> by{::EVP_MD_CTX_new(),
                                                                &::EVP_MD_CTX_free};
    ::EVP_DigestVerifyInit(by.get(), nullptr, ::EVP_sha256(), nullptr, keys_.get());
    const auto bytes = [](std::string_view x) {
      return reinterpret_cast<const unsigned char*>(x.data());
    };
    return ::EVP_DigestVerify(by.get(), bytes(signature), signature.size(), bytes(text),
                              text.size())
           == 1;
  }

private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> keys_;
};

const rsa_keys& our_keys() {
  static const rsa_keys keys;
  return keys;
}

std::string from_base64_url(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char x : text) {
    const auto digit = digits.find(x);
    REQUIRE(digit != std::string_view::npos);
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>((bits >> held) & 255);
    }
  }
  return bytes;
}

TEST_CASE("google_jwt: texts in base64 for URLs are those of RFC 4648") {
  CHECK(base64_url("").empty());
  CHECK(base64_url("f") == "Zg");
  CHECK(base64_url("fo") == "Zm8");
  CHECK(base64_url("foo") == "Zm9v");
  CHECK(base64_url("\xfb\xff") == "-_8");
}

TEST_CASE("google_jwt: a token is signed, and a key that is none is refused without showing it") {
  const auto token = signed_jwt(R"({"alg":"RS256"})", R"({"iss":"x"})", secret{our_keys().pem()});
  const auto end = token.rfind('.');
  CHECK(token.substr(0, end)
        == base64_url(R"({"alg":"RS256"})") + "." + base64_url(R"({"iss":"x"})"));
  CHECK(our_keys().have_signed(token.substr(0, end), from_base64_url(token.substr(end + 1))));
  CHECK_FALSE(
      our_keys().have_signed(token.substr(0, end - 1), from_base64_url(token.substr(end + 1))));
  const auto problem = problem_of([] { signed_jwt("{}", "{}", secret{"PLANTED"}); });
  REQUIRE(problem);
  CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
}

TEST_CASE("google_issuer: a service account shows what its key has signed") {
  temporary_directory dir;
  fault_server server{dir.path()};
  std::atomic<bool> is_right = false;
  server.service = [&](const fault_server::request& x) -> std::optional<fault_server::response> {
    const auto shown = sent(x, "assertion");
    const auto first = shown.find('.');
    const auto last = shown.rfind('.');
    const auto claims = json::parse(from_base64_url(shown.substr(first + 1, last - first - 1)));
    const auto head = json::parse(from_base64_url(shown.substr(0, first)));
    is_right =
        x.target == "/token"
        && sent(x, "grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        && head["alg"] == "RS256" && head["kid"] == "7" && claims["iss"] == "a@b.example"
        && claims["aud"] == server.address() + "/token"
        && claims["exp"].get<std::int64_t>() - claims["iat"].get<std::int64_t>() == 3600
        && std::abs(claims["iat"].get<std::int64_t>() - std::time(nullptr)) < 100
        && our_keys().have_signed(shown.substr(0, last), from_base64_url(shown.substr(last + 1)));
    return token_answer("T1");
  };
  json key{{"type", "service_account"},  {"client_email", "a@b.example"},
           {"private_key_id", "7"},      {"private_key", our_keys().pem()},
           {"project_id", "project-of"}, {"token_uri", server.address() + "/token"}};
  write_content(dir / "key.json", key.dump());
  const auto found =
      find_google_identity(reader_of({{"GOOGLE_APPLICATION_CREDENTIALS", dir / "key.json"}}));
  REQUIRE(found);
  CHECK(found->project == "project-of");
  const auto now = std::time(nullptr);
  const auto token = found->issuer.issue();
  CHECK(is_right);
  CHECK(token.are.is("T1"));
  REQUIRE(token.until);
  CHECK(std::abs(*token.until - now - 3600) < 100);
}

TEST_CASE("google_issuer: a user's refresh token, where gcloud leaves it") {
  temporary_directory dir;
  fault_server server{dir.path()};
  server.service = [](const fault_server::request& x) -> std::optional<fault_server::response> {
    if (sent(x, "grant_type") != "refresh_token" || sent(x, "refresh_token") != "r/+="
        || sent(x, "client_id") != "c" || sent(x, "client_secret") != "s")
      return fault_server::response{"400 Bad Request"};
    return token_answer("T2");
  };
  json user{{"type", "authorized_user"}, {"client_id", "c"},
            {"client_secret", "s"},      {"refresh_token", "r/+="},
            {"quota_project_id", "q"},   {"token_uri", server.address() + "/token"}};
  write_content(dir / "application_default_credentials.json", user.dump());
  const auto found = find_google_identity(reader_of({{"CLOUDSDK_CONFIG", dir.path()}}));
  REQUIRE(found);
  CHECK(found->project == "q");
  CHECK(found->issuer.issue().are.is("T2"));
}

TEST_CASE("google_issuer: what the service refuses is an error with its word, and no more of it") {
  temporary_directory dir;
  fault_server server{dir.path()};
  std::string said;
  server.service = [&](const auto&) -> std::optional<fault_server::response> {
    return fault_server::response{"400 Bad Request", "", said};
  };
  const json user{{"type", "authorized_user"},
                  {"client_id", "c"},
                  {"client_secret", "s"},
                  {"refresh_token", "r"},
                  {"token_uri", server.address() + "/token"}};
  const auto issuer = identity_in_json(user.dump(), "key.json").issuer;
  said = R"({"error": "invalid_grant", "error_description": "PLANTED"})";
  check_error([&] { (void)issuer.issue(); },
              {.code = errc::io, .got = "HTTP status 400, invalid_grant"});
  for (const char* other : {"", "PLANTED", R"({"error": "PLANTED 1"})", R"({"error": 1})", "[1]"}) {
    said = other;
    check_error([&] { (void)issuer.issue(); }, {.code = errc::io, .got = "HTTP status 400"});
  }
}

TEST_CASE("google_issuer: the service account of a machine") {
  temporary_directory dir;
  fault_server server{dir.path()};
  std::atomic<int> asked = 0;
  server.service = [&](const fault_server::request& x) -> std::optional<fault_server::response> {
    if (++asked < 3)
      return fault_server::response{"503 Service Unavailable"};
    if (header(x, "Metadata-Flavor") != "Google"
        || x.path != "computeMetadata/v1/instance/service-accounts/default/token")
      return fault_server::response{"403 Forbidden"};
    return token_answer("T3", 600);
  };
  const environment at{{"HOME", dir.path()}, {"GCE_METADATA_HOST", server.address().substr(7)}};
  const auto found = find_google_identity(reader_of(at));
  REQUIRE(found);
  CHECK(found->issuer.may_be_missing);
  ::setenv("http_proxy", "http://127.0.0.1:1", 1); // where nobody answers, nor is to be shown it
  CHECK(found->issuer.issue().are.is("T3"));
  ::unsetenv("http_proxy");
  CHECK(asked == 3);
  CHECK_FALSE(find_google_identity(reader_of({{"HOME", dir.path()}, {"NO_GCE_CHECK", "true"}})));
}

TEST_CASE("google_issuer: what is no file of credentials is an error that shows none of it") {
  const auto refused = [](const std::string& text, const char* said) {
    const auto problem = problem_of([&] { (void)identity_in_json(text, "key.json"); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    const std::string_view all{problem->what()};
    CAPTURE(all);
    CHECK(all.find(said) != std::string_view::npos);
    CHECK(all.find("PLANTED") == std::string_view::npos);
  };
  refused("PLANTED", "no JSON object");
  refused(R"({"type": "external_account"})", "the type \"external_account\"");
  refused(R"({"type": "service_account", "private_key": "PLANTED"})", "no \"client_email\"");
  refused(R"({"type": "authorized_user", "client_id": "c", "client_secret": "PLANTED"})",
          "no \"refresh_token\"");
  refused(R"({"type": "service_account", "client_email": "e", "private_key": "PLANTED",
              "token_uri": "http://far.example/"})",
          "a token_uri that is not https://");
  for (const char* wrong :
       {"", "[]", "{}", R"({"access_token": 7})", R"({"access_token": "a\nb"})"}) {
    CAPTURE(wrong);
    check_error([&] { (void)token_in_json(wrong, "the test", 0); }, {.code = errc::io});
  }
  CHECK_FALSE(token_in_json(R"({"access_token": "t", "expires_in": "x"})", "the test", 0).until);
  CHECK(token_in_json(R"({"access_token": "t", "expires_in": 5})", "the test", 7).until == 12);
}

/// A bucket "b" whose objects are shown to whoever has the token.
struct google_bench {
  explicit google_bench(fault_server::choice choose = {}) : server{dir.path(), std::move(choose)} {
    std::filesystem::create_directory(dir / "b");
    server.names_generations = true;
    server.service = [this, lists = s3_service{.folder = dir.path(), .open_buckets = {"b"}}](
                         const fault_server::request& x) -> std::optional<fault_server::response> {
      if (!is_accepted(header(x, "Authorization")))
        return fault_server::response{"401 Unauthorized", "",
                                      "<Error><Code>AuthenticationRequired</Code></Error>"};
      if (header(x, "x-goog-user-project") != payer)
        return fault_server::response{"400 Bad Request", "",
                                      "<Error><Code>UserProjectMissing</Code></Error>"};
      return lists(x);
    };
  }

  bool is_accepted(const std::string& shown) const {
    return !shown.empty() && (shown == "Bearer " + token) != is_expired;
  }
  remote_options options() const {
    remote_options x;
    x.endpoint = server.address();
    x.token = secret{"PLANTED"};
    return x;
  }
  s3_store store(const remote_options& how, const environment& at = {}) {
    return s3_store{
        s3_store::service_reader{[=] { return find_google_service(reader_of(at), how); }}, &pool};
  }

  temporary_directory dir;
  std::string payer;
  /// The one that is taken; once it has expired, any other.
  std::string token = "PLANTED";
  std::atomic<bool> is_expired = false;
  fault_server server;
  transfer_pool pool{impatient()};
};

std::string content_of_object(const object_store& store, const std::string& name) {
  const auto objects = store.open({name});
  std::string bytes(objects->stat(0).size, '?');
  (void)read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes}));
  return bytes;
}

TEST_CASE("google: objects and lists by a token, versions by their generations") {
  google_bench at;
  write_content(at.dir / "b/x.tar", "content");
  const auto store = at.store(at.options());
  CHECK(content_of_object(store, "gs://b/x.tar") == "content");
  CHECK(store.stat("gs://b/x.tar").version.tag == "1001");
  CHECK(store.full_name("gcs://b/x.tar") == "gs://b/x.tar");
  std::vector<std::string> names;
  store.list("gs://b", [&](const listed_object& x) { names.push_back(x.name); });
  CHECK(names == std::vector<std::string>{"x.tar"});
  const auto objects = store.open({"gs://b/x.tar"}, read_pattern::normal);
  (void)objects->stat(0);
  at.server.honours_if_match = false;
  at.server.change();
  std::string bytes(7, '?');
  check_error([&] { (void)read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes})); },
              {.code = errc::io, .file = "gs://b/x.tar", .got_has = "generation 1002"});
}

TEST_CASE("google: a token that is refused is asked for again") {
  google_bench at;
  write_content(at.dir / "b/x", "content");
  temporary_directory home;
  fault_server issuer{home.path()};
  std::atomic<int> issued = 0;
  issuer.service = [&](const auto&) -> std::optional<fault_server::response> {
    return token_answer("T" + std::to_string(++issued));
  };
  json user{{"type", "authorized_user"},
            {"client_id", "c"},
            {"client_secret", "s"},
            {"refresh_token", "r"},
            {"token_uri", issuer.address() + "/token"}};
  const auto keeper = keeper_for(identity_in_json(user.dump(), "key.json").issuer);
  const s3_store store{s3_store::service_reader{[&] {
                         bucket_service x;
                         x.at.endpoint = at.server.address();
                         bearer_signer::facts by{.origin = at.server.address(), .keeper = keeper};
                         x.signer = std::make_shared<bearer_signer>(std::move(by));
                         return x;
                       }},
                       &at.pool};
  at.token = "T1";
  const auto objects = store.open({"gs://b/x"}, read_pattern::normal);
  CHECK(objects->stat(0).size == 7);
  at.is_expired = true;
  std::string bytes(7, '?');
  (void)read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes}));
  CHECK(bytes == "content");
  CHECK(issued >= 2);
}

TEST_CASE("google: HMAC keys sign as Amazon's do") {
  temporary_directory dir;
  std::filesystem::create_directory(dir / "b");
  write_content(dir / "b/x y", "content");
  fault_server server{dir.path()};
  const aws_credentials owner{"GOOG1", secret{"s/e"}};
  server.service = s3_service{.folder = dir.path(), .owner = owner, .region = "auto"};
  remote_options how;
  how.endpoint = server.address();
  transfer_pool pool{impatient()};
  const environment keys{{"GS_ACCESS_KEY_ID", "GOOG1"}, {"GS_SECRET_ACCESS_KEY", "s/e"}};
  const s3_store by_environment{
      s3_store::service_reader{[&] { return find_google_service(reader_of(keys), how); }}, &pool};
  CHECK(content_of_object(by_environment, "gs://b/x y") == "content");
  how.access_key = "GOOG1";
  how.secret_key = owner.secret_key;
  const store_set set{how};
  CHECK(content_of_object(set.of("gcs://b/x y"), "gcs://b/x y") == "content");
}

TEST_CASE("google: refusals say what to do, and a payer is named") {
  google_bench at;
  write_content(at.dir / "b/x", "content");
  const auto refused = [&](const remote_options& how, const environment& around,
                           const char* needed) {
    const auto store = at.store(how, around);
    const auto problem = problem_of([&] { (void)store.stat("gs://b/x"); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::io);
    const std::string_view text{problem->what()};
    CAPTURE(text);
    CHECK(text.find(needed) != std::string_view::npos);
    CHECK(text.find("PLANTED") == std::string_view::npos);
  };
  auto how = at.options();
  how.token = secret{"PLANTED, but another"};
  refused(how, {}, "the token of the options");
  how.token = {};
  refused(how, {}, "GOOGLE_APPLICATION_CREDENTIALS");
  how.anonymous = true;
  refused(how, {}, "anonymous");
  at.payer = "p-1";
  auto payer = at.options();
  refused(payer, {}, "the token of the options");
  payer.requester_pays = true;
  const auto store = at.store(payer, {{"GOOGLE_CLOUD_PROJECT", "p-1"}});
  CHECK(content_of_object(store, "gs://b/x") == "content");
  check_error([&] { (void)at.store(payer).stat("gs://b/x"); },
              {.code = errc::invalid_argument, .got = "no project that pays"});
}

TEST_CASE("google: where the metadata service does not answer, a refusal says so") {
  const google_bench at;
  fault_server silent{at.dir.path()};
  silent.service = [](const auto&) { return fault_server::response{"404 Not Found"}; };
  const auto advice = [&](const environment& more) {
    environment around{{"HOME", at.dir.path()}};
    around.insert(more.begin(), more.end());
    return find_google_service(reader_of(around), {}).signer->advice();
  };
  CHECK(advice({{"GCE_METADATA_HOST", silent.address().substr(7)}})
            .find("there are none, and the metadata service that would issue those of the service "
                  "account of this machine did not answer, or has none")
        != std::string::npos);
  CHECK(advice({{"NO_GCE_CHECK", "true"}}).ends_with("there are none"));
}

TEST_CASE("google: tokens go to no service that others can listen to, and to no emulator") {
  remote_options how;
  how.token = secret{"PLANTED"};
  how.endpoint = "http://far.example";
  check_error([&] { (void)find_google_service(reader_of({}), how); },
              {.code = errc::invalid_argument});
  const auto by = find_google_service(reader_of({{"STORAGE_EMULATOR_HOST", "far.example:4443"},
                                                 {"GOOGLE_APPLICATION_CREDENTIALS", "/none"}}));
  CHECK(by.at.endpoint == "http://far.example:4443");
  CHECK(by.signer->headers_for("http://far.example:4443/b/x", 0).empty());
  temporary_directory dir;
  fault_server issuer{dir.path()};
  issuer.service = [](const auto&) { return std::optional{token_answer("T")}; };
  write_content(dir / "key.json", json{{"type", "authorized_user"},
                                       {"client_id", "c"},
                                       {"client_secret", "s"},
                                       {"refresh_token", "r"},
                                       {"token_uri", issuer.address() + "/token"}}
                                      .dump());
  const auto shown_to = [&](const std::string& endpoint) {
    remote_options other;
    other.endpoint = endpoint;
    const environment around{{"GOOGLE_APPLICATION_CREDENTIALS", dir / "key.json"}};
    return find_google_service(reader_of(around), other)
        .signer->headers_for(endpoint + "/b/x", 0)
        .size();
  };
  CHECK(shown_to("https://private.googleapis.com") == 1);
  for (const char* other : {"https://minio.example", "https://googleapis.com.example",
                            "https://evil.example/.googleapis.com", "http://127.0.0.1:9"}) {
    CAPTURE(other);
    CHECK(shown_to(other) == 0);
  }
  const auto usual = find_google_service(reader_of({{"NO_GCE_CHECK", "true"}, {"HOME", "/none"}}));
  CHECK(usual.at.endpoint == "https://storage.googleapis.com");
}

TEST_CASE("google: what says who asks is shown wherever the bucket was to stand") {
  remote_options how;
  how.token = secret{"T"};
  how.bucket_in = bucket_place::host;
  how.requester_pays = true;
  const auto shown_by = [&](const char* payer) {
    const auto by = find_google_service(reader_of({{"GOOGLE_CLOUD_PROJECT", payer}}), how);
    return by.signer->headers_for(s3_address{"gs://b/x", "test"}.url(by.at), 0);
  };
  CHECK(shown_by("p-1")
        == std::vector<std::string>{"x-goog-user-project: p-1", "Authorization: Bearer T"});
  check_error([&] { (void)shown_by("p-1\nheader: x"); }, {.code = errc::invalid_argument});
}

TEST_CASE("bearer_signer: a token that is refused for a minute is given up, not one now and then") {
  const auto keeper = std::make_shared<token_keeper>(
      token_issuer{.source = "the test", .issue = [] { return issued<secret>{secret{"T"}}; }});
  bearer_signer x{{.origin = "https://h", .keeper = keeper}};
  using answer = request_signer::answer;
  CHECK(x.refused("401", 0, 100) == answer::ask_later);
  CHECK(x.refused("401", 0, 150) == answer::ask_later);
  CHECK(x.refused("401", 0, 161) == answer::give_up);
  CHECK(x.refused("401", 0, 1000) == answer::ask_later);
}

TEST_CASE("bearer_signer: a token is for its service alone") {
  bearer_signer x{{.origin = "https://h", .token = secret{"T"}, .headers = {"a: b"}}};
  const std::vector<std::string> shown{"a: b", "Authorization: Bearer T"};
  CHECK(x.headers_for("https://h/x", 0) == shown);
  for (const char* other : {"https://h.example/x", "https://ha/x", "http://h/x", "https://h:1/x",
                            "https://other/https://h/x", "https://h@other/x"})
    CHECK(x.headers_for(other, 0).empty());
  CHECK(x.refused("401", 0, 0) == request_signer::answer::give_up);
}

} // namespace
} // namespace leat::google_test
