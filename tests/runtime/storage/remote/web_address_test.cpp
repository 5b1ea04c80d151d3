#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"

namespace leat::web_address_test {
namespace {

TEST_CASE("service_endpoint: only this machine's own names are not overheard without https") {
  for (const char* ours : {"http://localhost", "http://localhost:9000/x", "http://127.0.0.1:9",
                           "http://127.1.2.3", "http://[::1]:9000", "https://far.example", ""}) {
    CAPTURE(ours);
    CHECK_FALSE(is_overheard(ours));
  }
  for (const char* other :
       {"http://far.example", "http://127.evil.example", "http://127.0.0.1.example", "http://",
        "http://localhost.example", "http://localhost:x@evil.example", "http://127.0.0.1@evil",
        "http://[::1]@evil", "http://[::1].evil", "http://[::1", "http://127...",
        "http://127.0.0."}) {
    CAPTURE(other);
    CHECK(is_overheard(other));
  }
}

TEST_CASE("web address: a name ends as the file's does, and its request is encoded") {
  struct case_of {
    std::string name, full, url;
  };
  for (const auto& [name, full, url] : std::vector<case_of>{
           {"http://h/a.tar", "http://h/a.tar", "http://h/a.tar"},
           {"HTTPS://Host:81/a//b/../c", "https://host:81/a//b/../c", "https://host:81/a//b/../c"},
           {"http://h/a b+c.tar", "http://h/a b+c.tar", "http://h/a%20b%2Bc.tar"},
           {"http://h/a%20b%2bc.tar", "http://h/a b+c.tar", "http://h/a%20b%2Bc.tar"},
           {"http://h/%3Fx%23%25", "http://h/?x#%", "http://h/%3Fx%23%25"},
           {"http://h/\xc3\xa4", "http://h/\xc3\xa4", "http://h/%C3%A4"},
           {"http://[::1]:8/x", "http://[::1]:8/x", "http://[::1]:8/x"}}) {
    const web_address x{name, "test"};
    CHECK(x.name() == full);
    CHECK(x.url() == url);
    CHECK(web_address{x.url(), "test"}.name() == full);
    CHECK(web_address{full, "test", web_address::spelling::full}.url() == url);
  }
  CHECK(web_address{"http://h:8/x/y", "test"}.server() == "http://h:8");
}

TEST_CASE("web address: what may be a secret is refused, and not repeated") {
  for (const std::string name :
       {"https://user:secret@h/x", "https://secret@h/x", "https://h/x?signature=secret",
        "https://h?secret", "https://h/x#secret", "https://user:secret@h", "https://h/%2F?secret",
        "https://user:a/secret@h/x"}) {
    CAPTURE(name);
    const auto problem = problem_of([&] { web_address{name, "test"}; });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(std::string{problem->what()}.find("secret") == std::string::npos);
  }
}

TEST_CASE("web address: errors show names without what may be a secret") {
  for (const auto& [name, shown] : std::vector<std::pair<std::string, std::string>>{
           {"/a/b@c?d", "/a/b@c?d"},
           {"https://h/a@b", "https://h/a@b"},
           {"https://h:8/a@b", "https://h:8/a@b"},
           {"https://[::1]/a@b", "https://[::1]/a@b"},
           {"https://u:p@h/a@b", "https://...@b"},
           {"https://u:p@h/a", "https://...@h/a"},
           {"s3://u:p/q@h/a?x=y", "s3://...@h/a"},
           {"https://h/a?x@y", "https://h/a"},
           {"hf://datasets/a/b@main/c", "hf://datasets/a/b@main/c"}})
    CHECK(without_secrets(name) == shown);
}

TEST_CASE("web address: what is none is refused") {
  for (const std::string name :
       {"", "x", "/a/b", "http://", "http:///x", "http://h", "http://h/%", "http://h/%2",
        "http://h/%zz", "http://h/a%2Fb", "http://h/%00", "http://h/\n", "http://h h/x",
        "http://h\"/x", "http://h:/x", "http://h:x/y"}) {
    CAPTURE(name);
    CHECK(code_of([&] { web_address{name, "test"}; }) == errc::invalid_argument);
  }
}

TEST_CASE("web address: schemes are told from paths") {
  CHECK(scheme_of("s3://x") == "s3");
  CHECK(scheme_of("a+b-c.1://x") == "a+b-c.1");
  for (const std::string name : {"/a://b", "a/b://c", "://x", "1a://x", "a:/b", "", "a b://c"})
    CHECK(scheme_of(name).empty());
}

} // namespace
} // namespace leat::web_address_test
