// Objects of S3, from a service that checks signatures and lists as S3 does.

#include "runtime/storage/file_set.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/aws/s3_address.hpp"
#include "runtime/storage/remote/aws/s3_listing.hpp"
#include "runtime/storage/remote/aws/s3_signer.hpp"
#include "runtime/storage/remote/aws/s3_store.hpp"
#include "runtime/storage/remote/page_turner.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <algorithm>

namespace leat::s3_store_test {
namespace {

using namespace leat::test;
using names = std::vector<std::string>;

const aws_credentials owner{"AK", secret{"s/e+cret"}, secret{}};
const aws_credentials guest{"AK2", secret{"s/e+cret"}, secret{"T/+="}};

/// A service over a folder with the bucket "b", and stores that ask it.
class s3_bench {
public:
  explicit s3_bench(fault_server::choice choose = {}) : s3_bench(s3_service{}, std::move(choose)) {}
  s3_bench(s3_service how, fault_server::choice choose = {})
      : server{dir.path(), std::move(choose)} {
    std::filesystem::create_directory(dir / "b");
    how.folder = dir.path();
    if (how.owner.access_key.empty())
      how.owner = owner;
    server.service = how;
  }

  void write(const std::string& key, const std::string& content) const {
    const std::filesystem::path path{dir / ("b/" + key)};
    std::filesystem::create_directories(path.parent_path());
    write_content(path.native(), content);
  }
  aws_settings settings(std::optional<aws_credentials> by = owner,
                        std::string region = "us-east-1") const {
    return {.region = std::move(region),
            .endpoint = server.address(),
            .credentials = std::move(by),
            .source = "the test"};
  }

  temporary_directory dir;
  fault_server server;
  transfer_pool pool{impatient()};
  s3_store store{[this] { return settings(); }, &pool};
};

std::string content_of_object(const object_store& store, const std::string& name) {
  const auto objects = store.open(names{name}, read_pattern::normal);
  std::string bytes(objects->stat(0).size, '?');
  const auto n = read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes}));
  CHECK(n == bytes.size());
  return bytes;
}

names listed(const object_store& store, const std::string& folder) {
  names all;
  store.list(folder, [&](const listed_object& x) {
    all.push_back(x.name + (x.is == object_kind::folder ? "/" : ""));
    if (x.is == object_kind::plain) {
      REQUIRE(x.version);
      CHECK(*x.version == store.stat(folder + "/" + x.name).version);
    }
  });
  return all;
}

TEST_CASE("s3_address: names are taken as they are, and say where to ask") {
  const aws_settings amazon{.region = "eu-west-3"};
  const s3_address x{"s3://b-1/a b/%41+ä", "test"};
  CHECK(x.name() == "s3://b-1/a b/%41+ä");
  CHECK(x.url(amazon) == "https://b-1.s3.eu-west-3.amazonaws.com/a%20b/%2541%2B%C3%A4");
  CHECK(s3_address{"s3://b.1/k", "test"}.url(amazon) == "https://s3.eu-west-3.amazonaws.com/b.1/k");
  CHECK(x.url({.endpoint = "http://127.0.0.1:9"}) == "http://127.0.0.1:9/b-1/a%20b/%2541%2B%C3%A4");
  CHECK(x.url({.endpoint = "https://h:9", .bucket_in = bucket_place::host})
        == "https://b-1.h:9/a%20b/%2541%2B%C3%A4");
  CHECK(x.url({.region = "eu-west-3", .bucket_in = bucket_place::path})
        == "https://s3.eu-west-3.amazonaws.com/b-1/a%20b/%2541%2B%C3%A4");
  CHECK(s3_address{"s3://b.1/k", "test"}.url({.region = "r", .bucket_in = bucket_place::host})
        == "https://b.1.s3.r.amazonaws.com/k");
  CHECK(s3_address{"s3://bucket", "test"}.key().empty());
  CHECK(s3_address{"s3://b/Signature=a?b", "test"}.key() == "Signature=a?b");
  const std::string label(60, 'b');
  const auto domain = label + "." + label + "." + label;
  CHECK(s3_address{"gs://" + domain + "/k", "test"}.bucket() == domain);
  for (const auto& longer : {"s3://" + domain, "gs://" + label + label, "gs://" + domain + domain})
    check_error([&] { s3_address{longer + "/k", "test"}; }, {.code = errc::invalid_argument});
  for (const char* wrong :
       {"s3://", "s3:///k", "s3://user:PLANTED@b/k", "s3://-b/k", "s3://b\n/k", "s3://b/k\x01",
        "s3://b/k?X-Amz-Signature=PLANTED", "gs://b/k?a=b&X-Goog-Signature=PLANTED"}) {
    CAPTURE(wrong);
    const auto problem = problem_of([&] { s3_address{wrong, "test"}; });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
  }
}

TEST_CASE("s3_store: objects of odd names, signed, with and without a session token") {
  std::mt19937_64 random{1};
  for (const auto& by : {owner, guest}) {
    s3_bench at{s3_service{.owner = by}};
    const s3_store store{[&] { return at.settings(by); }, &at.pool};
    for (const std::string key :
         {"plain.tar", "a b+c%d:e=f@g,h;i!j'k(l)&n$o{r}s^t#u~v", "ä/日本/😀", "deep/er/x"}) {
      CAPTURE(key);
      const auto content = std::string{"x"} + key + std::string(random() % 90'000, 'z');
      at.write(key, content);
      CHECK(content_of_object(store, "s3://b/" + key) == content);
    }
  }
}

TEST_CASE("s3_store: a folder is listed page by page, its folders apart") {
  s3_bench at{s3_service{.names_per_page = 3}};
  for (const char* key : {"top", "d/a", "d/b c", "d/ä&<", "d/z%20", "d/e/1", "d/e/2", "d/f/g/3"})
    at.write(key, key);
  CHECK(listed(at.store, "s3://b") == names{"top", "d/"});
  auto all = listed(at.store, "s3://b/d");
  CHECK(all == listed(at.store, "s3://b/d/"));
  std::sort(all.begin(), all.end());
  CHECK(all == names{"a", "b c", "e/", "f/", "z%20", "ä&<"});
  CHECK(at.store.stat("s3://b/d").is == object_kind::folder);
  CHECK(at.store.stat("s3://b/d/").is == object_kind::folder);
  CHECK(at.store.stat("s3://b").is == object_kind::folder);
  CHECK(at.store.stat("s3://b/top").is == object_kind::plain);
  for (const char* folder : {"s3://b", "s3://b/d/"})
    check_error([&] { (void)at.store.open(names{folder}, read_pattern::normal); },
                {.code = errc::invalid_argument, .got = "a folder of objects"});
  for (const char* none : {"s3://b/none", "s3://none", "s3://b/to"})
    CHECK(problem_of([&] { at.store.list(none, [](const auto&) {}); })->code() == errc::not_found);
}

TEST_CASE("s3_store: names of folders and files with spaces, which lists write as forms do") {
  s3_bench at;
  at.write("my data/a b+c", "content");
  CHECK(listed(at.store, "s3://b/my data") == names{"a b+c"});
  CHECK(content_of_object(at.store, "s3://b/my data/a b+c") == "content");
}

TEST_CASE("s3_store: a list that leads to the same page for ever is an error") {
  s3_bench at;
  at.server.service = [](const fault_server::request&) {
    return std::optional{fault_server::response{
        "200 OK", "",
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>same</NextContinuationToken></ListBucketResult>"}};
  };
  check_error([&] { at.store.list("s3://b/d", [](const auto&) {}); },
              {.code = errc::io, .stage = "list", .got_has = "names itself"});
  page_turner pages{"s3://b/d"};
  check_error(
      [&] {
        for (std::size_t i = 0; i <= page_turner::most_pages; ++i)
          (void)pages.turn(std::to_string(i), std::to_string(i + 1));
      },
      {.code = errc::io, .file = "s3://b/d", .got_has = "pages"});
}

TEST_CASE("s3_store: refusals say who asked, what the service said, and what to do") {
  s3_bench at;
  at.write("x", "content");
  const auto check = [&](aws_settings x, const expected_error& want) {
    const s3_store store{[&] { return x; }, &at.pool};
    check_error([&] { (void)store.stat("s3://b/x"); }, want);
    check_error([&] { store.list("s3://b", [](const auto&) {}); }, {.code = errc::io});
  };
  check(at.settings({{"AK", secret{"PLANTED"}, secret{}}}),
        {.code = errc::io,
         .file = "s3://b/x",
         .needed = "an object that the credentials of the test may read, in the region us-east-1",
         .got_has = "the server refuses to show it, SignatureDoesNotMatch, request R17"});
  check(at.settings(owner, "eu-west-1"), {.code = errc::io, .got_has = "SignatureDoesNotMatch"});
  check(at.settings(std::nullopt), {.code = errc::io,
                                    .got_has = "AccessDenied",
                                    .needed_has = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"});
  check_error([&] { (void)at.store.stat("s3://b/y"); },
              {.code = errc::not_found, .file = "s3://b/y"});
}

TEST_CASE("s3_store: where the metadata service does not answer, a refusal says so") {
  const auto needed = [](const aws_settings& x) { return s3_signer{x, nullptr}.advice(); };
  aws_settings nobody{.source = "the environment"};
  CHECK(needed(nobody).ends_with("there are none in the environment"));
  nobody.issuer = aws_issuer{.source = "the role of this machine", .issue = {}};
  CHECK(needed(nobody).ends_with("there are none in the environment, and the metadata service that "
                                 "would issue those of the role of this machine did not answer, or "
                                 "has none"));
}

TEST_CASE("s3_store: buckets that are open need no credentials") {
  s3_bench at{s3_service{.open_buckets = {"b"}}};
  at.write("x", "content");
  const s3_store store{[&] { return at.settings(std::nullopt); }, &at.pool};
  CHECK(content_of_object(store, "s3://b/x") == "content");
}

TEST_CASE("s3_store: whoever pays says so, signed") {
  s3_bench at{s3_service{.requester_pays = true}};
  at.write("x", "content");
  auto payer = at.settings();
  payer.requester_pays = true;
  const s3_store store{[&] { return payer; }, &at.pool};
  CHECK(content_of_object(store, "s3://b/x") == "content");
  CHECK(listed(store, "s3://b") == names{"x"});
  check_error([&] { (void)at.store.stat("s3://b/x"); },
              {.code = errc::io, .got_has = "AccessDenied"});
}

TEST_CASE("store_set: two at a time ask with their own options") {
  s3_bench one{s3_service{.owner = owner}};
  s3_bench two{s3_service{.owner = guest}};
  one.write("x", "one");
  two.write("x", "two");
  const auto options = [](const s3_bench& at, const aws_credentials& by) {
    remote_options x;
    x.endpoint = at.server.address();
    x.access_key = by.access_key;
    x.secret_key = by.secret_key;
    x.session_token = by.session_token;
    return x;
  };
  const store_set first{options(one, owner)};
  const store_set second{options(two, guest)};
  CHECK(&first.of("s3://b/x") != &second.of("s3://b/x"));
  CHECK(&first.of("/a") == &second.of("/b"));
  CHECK(content_of_object(first.of("s3://b/x"), "s3://b/x") == "one");
  CHECK(content_of_object(second.of("s3://b/x"), "s3://b/x") == "two");
  CHECK(find_files({"s3://b/*"}, "test", file_kinds::plain, second).store
        == &second.of("s3://b/x"));
  check_error([&] { (void)store_set{options(one, guest)}.of("s3://b/x").stat("s3://b/x"); },
              {.code = errc::io, .needed_has = "the credentials of the options"});
}

TEST_CASE("store_set: options that contradict each other are refused") {
  CHECK_FALSE(chosen_stores({}));
  const auto refused = [](auto set) {
    remote_options x;
    set(x);
    const auto problem = problem_of([&] { store_set{x}; });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
  };
  refused([](auto& x) { x.access_key = "AK"; });
  refused([](auto& x) { x.secret_key = secret{"PLANTED"}; });
  refused([](auto& x) { x.session_token = secret{"PLANTED"}; });
  for (const char* endpoint :
       {"host:9000", "//", "https://", "user:PLANTED@host:9000", "https://user:PLANTED@host",
        "https://host?s=PLANTED", "https://host#PLANTED", "https://user:PL?PLANTED@host",
        "https://host\nPLANTED"})
    refused([&](auto& x) { x.endpoint = endpoint; });
  const auto line = secret{"PLANTED\n"};
  refused([](auto& x) { x.region = "us-east-1\nPLANTED"; });
  refused([&](auto& x) { x.token = line; });
  refused([&](auto& x) {
    x.access_key = "AK";
    x.secret_key = line;
  });
  refused([](auto& x) {
    x.access_key = "PLANTED\n";
    x.secret_key = secret{"PLANTED"};
  });
  refused([&](auto& x) {
    x.access_key = "AK";
    x.secret_key = secret{"PLANTED"};
    x.session_token = line;
  });
  refused([](auto& x) {
    x.anonymous = true;
    x.access_key = "AK";
    x.secret_key = secret{"PLANTED"};
  });
  refused([](auto& x) { x.anonymous = x.requester_pays = true; });
}

TEST_CASE("s3_store: a clock that is wrong is corrected by the server's") {
  for (const std::int64_t ahead : {-100'000, 100'000}) {
    s3_bench at{s3_service{.ahead = ahead}};
    at.write("x", "content");
    CHECK(content_of_object(at.store, "s3://b/x") == "content");
    CHECK(listed(at.store, "s3://b") == names{"x"});
  }
}

TEST_CASE("s3_store: another region is named") {
  s3_bench at;
  at.server.service = [](const auto&) -> std::optional<fault_server::response> {
    return fault_server::response{
        "301 Moved Permanently",
        "Location: https://elsewhere/\r\nx-amz-bucket-region: eu-south-2\r\n"};
  };
  check_error([&] { (void)at.store.stat("s3://b/x"); },
              {.code = errc::io, .got_has = "a redirect to the region eu-south-2"});
}

TEST_CASE("s3_store: patterns find what they find in files") {
  s3_bench at{s3_service{.names_per_page = 2}};
  for (const char* key : {"d/0.tar", "d/1.tar", "d/10.tar", "d/1.tar.leat-index", "d/.2.tar",
                          "d/3.txt", "d/x.tar/4.tar", "e/5.tar", "e/f/6.tar", "7.tar"})
    at.write(key, key);
  const auto local = [&](const std::string& pattern) {
    auto found = find_files({at.dir / ("b/" + pattern)}, "test").paths;
    for (auto& x : found)
      x = "s3://" + x.substr(at.dir.path().size() + 1);
    return found;
  };
  ::setenv("AWS_ENDPOINT_URL", at.server.address().c_str(), 1);
  ::setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "s/e+cret", 1);
  for (const char* pattern : {"d/*.tar", "d/?.tar", "*/*.tar", "*.tar", "d/[01].tar", "{d,e}/*.tar",
                              "e/*/*.tar", "d/{0,10}.tar"}) {
    CAPTURE(pattern);
    const auto found = find_files({std::string{"s3://b/"} + pattern}, "test");
    CHECK(found.paths == local(pattern));
    CHECK(found.store == &process_stores()->of("s3://b/x"));
  }
  for (const char* none : {"none/*.tar", "d/*.none", "*/*/*/*"})
    CHECK(problem_of([&] { find_files({std::string{"s3://b/"} + none}, "test"); })->code()
          == errc::not_found);
  // Two "/" are a folder without a name: there is none, and names of its objects are not made up.
  for (const char* none : {"s3://b/none/*.tar", "s3://b/d//*.tar"})
    check_error([&] { find_files({none}, "test"); },
                {.code = errc::not_found, .got = "a folder without objects"});
  check_error([&] { find_files({"s3://b/d/?x.tar"}, "test"); },
              {.code = errc::not_found, .got_has = "s3://b/d/?x.tar"});
  for (const char* x : {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
    ::unsetenv(x);
}

TEST_CASE("s3_store: responses that go wrong are asked for again, lists as well") {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    s3_bench at{s3_service{.names_per_page = 3},
                random_faults(seed, 6, {fault::busy, fault::reset, fault::too_many})};
    std::string content(200'000, 'x');
    for (int i = 0; i < 20; ++i)
      at.write("d/" + std::to_string(i), content + std::to_string(i));
    CHECK(listed(at.store, "s3://b/d").size() == 20);
    for (int i = 0; i < 20; ++i)
      CHECK(content_of_object(at.store, "s3://b/d/" + std::to_string(i))
            == content + std::to_string(i));
    faults += at.server.faults();
  }
  CHECK(faults > 10);
}

TEST_CASE("s3_listing: what is no list, or only a part of one, is an error") {
  const auto read = [](const std::string& xml) {
    return read_s3_page("<ListBucketResult><EncodingType>url</EncodingType>" + xml
                            + "</ListBucketResult>",
                        "d/", "s3://b/d");
  };
  CHECK(read("").entries.empty());
  CHECK(read("<Contents><Key>d/</Key><Size>0</Size></Contents>").entries.empty());
  CHECK(read("<Contents><Key>d/x%26y</Key><Size>5</Size><ETag>&quot;e&quot;</ETag></Contents>")
            .entries.front()
            .version
        == object_version{.size = 5, .mtime_ns = object_version::no_time, .tag = "\"e\""});
  const std::string odd = "<Contents><Key>d/x+%2B</Key><Size>5</Size></Contents>";
  CHECK(read(odd).entries.front().name == "x +");
  // A service that has not encoded it does not say that it has.
  CHECK(read_s3_page("<ListBucketResult>" + odd + "</ListBucketResult>", "d/", "s3://b/d")
            .entries.front()
            .name
        == "x+%2B");
  for (const char* wrong :
       {"<Contents><Key>e/x</Key><Size>5</Size></Contents>", "<Contents><Key>d/x</Key></Contents>",
        "<Contents><Key>d/x</Key><Size>-5</Size></Contents>",
        "<Contents><Key>d/x</Key><Size>99999999999999999999</Size></Contents>",
        "<Contents><Key>d/%4</Key><Size>5</Size></Contents>", "<IsTruncated>true</IsTruncated>",
        "<Contents>"}) {
    CAPTURE(wrong);
    check_error([&] { read(wrong); }, {.code = errc::io, .file = "s3://b/d", .stage = "list"});
  }
  check_error([] { read_s3_page("<Error/>", "", "s3://b"); }, {.code = errc::io});
  check_error([] { read_s3_page("", "", "s3://b"); }, {.code = errc::io});
}

} // namespace
} // namespace leat::s3_store_test
