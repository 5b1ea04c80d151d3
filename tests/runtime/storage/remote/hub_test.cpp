// Data sets of the Hub: from a service that checks tokens, pages its lists and redirects.

#include "runtime/storage/file_set.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/hub/hub_address.hpp"
#include "runtime/storage/remote/hub/hub_answers.hpp"
#include "runtime/storage/remote/hub/hub_service.hpp"
#include "runtime/storage/remote/hub/hub_store.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/hub_service.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace leat::hub_test {
namespace {

using namespace leat::test;
using environment = std::map<std::string, std::string>;
using names = std::vector<std::string>;

auto reader_of(const environment& x) {
  return [x](const char* name) {
    const auto at = x.find(name);
    return at == x.end() ? std::string{} : at->second;
  };
}

std::vector<std::string> shown_to(const hub_service& x, const std::string& url) {
  return x.signer->headers_for(url, 0);
}

/// A data set, the service that has it, and the server to which that sends for large files.
class hub_bench {
public:
  explicit hub_bench(std::size_t files_per_page = 1000, fault_server::choice choose = {})
      : other{dir / "repo", choose}, server{dir / "hub", std::move(choose)} {
    std::filesystem::create_directories(dir / ("hub/datasets/o/n/resolve"));
    std::filesystem::create_directory(dir / "repo");
    for (const char commit : {'a', 'b'})
      std::filesystem::create_directory_symlink(
          dir / "repo", dir / ("hub/datasets/o/n/resolve/" + std::string(40, commit)));
    how.folder = dir / "repo";
    how.other_server = other.address();
    how.address = "https://huggingface.co";
    how.files_per_page = files_per_page;
    other.service =
        [this](const fault_server::request& x) -> std::optional<fault_server::response> {
      is_leaked = is_leaked || x.headers.contains("Authorization");
      return {};
    };
    serve();
  }
  void serve() { server.service = how; }
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file{dir / ("repo/" + path)};
    std::filesystem::create_directories(file.parent_path());
    write_content(file.native(), content);
  }
  hub_service service(const char* token = "T") const {
    remote_options x;
    x.endpoint = server.address();
    x.token = secret{token};
    return find_hub_service(reader_of({{"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}}), x);
  }

  temporary_directory dir;
  hub_service_of_test how;
  std::atomic<bool> is_leaked = false;
  fault_server other;
  fault_server server;
  transfer_pool pool{impatient()};
  hub_store store{[this] { return service(); }, &pool};
};

std::string content_of_object(const object_store& store, const std::string& name) {
  const auto objects = store.open({name});
  std::string bytes(objects->stat(0).size, '?');
  (void)read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes}));
  return bytes;
}

names listed(const object_store& store, const std::string& folder) {
  names all;
  store.list(folder, [&](const listed_object& x) {
    all.push_back(x.name + (x.is == object_kind::folder ? "/" : ""));
    CHECK(x.version.has_value() == (x.is == object_kind::plain));
  });
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("hub_address: names say data set, revision and path") {
  const hub_address x{"hf://datasets/o-1/n.2@v1.0/data/a b%20.tar", "test"};
  CHECK(x.data_set() == "o-1/n.2");
  CHECK(x.revision() == "v1.0");
  CHECK(x.path() == "data/a b%20.tar");
  CHECK(x.name() == "hf://datasets/o-1/n.2@v1.0/data/a b%20.tar");
  CHECK(x.file_url("https://h", "c") == "https://h/datasets/o-1/n.2/resolve/c/data/a%20b%2520.tar");
  const hub_address usual{"hf://datasets/o/n/x", "test"};
  CHECK(usual.name() == "hf://datasets/o/n@main/x");
  CHECK_FALSE(usual.has_commit());
  const hub_address all{"hf://datasets/o/n@refs%2Fpr%2F1", "test"};
  CHECK(all.revision() == "refs/pr/1");
  CHECK(all.path().empty());
  CHECK(all.name() == "hf://datasets/o/n@refs%2Fpr%2F1/");
  CHECK(all.facts_url("e") == "e/api/datasets/o/n/revision/refs%2Fpr%2F1");
  CHECK(all.list_url("e", "c") == "e/api/datasets/o/n/tree/c?recursive=false");
  CHECK(hub_address{"hf://datasets/o/n@~parquet/x", "test"}.revision() == "refs/convert/parquet");
  CHECK(hub_address{"hf://datasets/o/n@" + std::string(40, '7') + "/x", "test"}.has_commit());
  CHECK(hub_address{"hf://datasets/o/n/?.tar", "test"}.path() == "?.tar");
  // An "@" in the path is part of it.
  CHECK(hub_address{"hf://datasets/o/n/a@b", "test"}.path() == "a@b");
  for (const char* wrong :
       {"hf://", "hf://o/n/x", "hf://datasets/o", "hf://datasets//n/x", "hf://datasets/o@r/n/x",
        "hf://datasets/o/n@/x", "hf://datasets/o/@r/x", "hf://datasets/../n/x",
        "hf://datasets/o/n@%2/x", "hf://datasets/o/n/x\n", "hf://datasets/o/n@a%0Ab/x",
        "hf://datasets/o/n/x?download=true"}) {
    CAPTURE(wrong);
    check_error([&] { hub_address{wrong, "test"}; }, {.code = errc::invalid_argument});
  }
}

TEST_CASE("hub_address: the full name names the same") {
  for (const char* name :
       {"hf://datasets/o/n@a%2Fb%25/x/y", "hf://datasets/o/n", "hf://datasets/o/n/x@y"}) {
    const hub_address x{name, "test"};
    const hub_address again{x.name(), "test"};
    CHECK(again.name() == x.name());
    CHECK(again.revision() == x.revision());
    CHECK(again.path() == x.path());
  }
}

TEST_CASE("hub_store: files of the Hub and of where it sends, to which the token is not shown") {
  hub_bench at;
  at.write("data/large one.tar", std::string(200'000, 'x'));
  at.write("small.txt", "small");
  CHECK(content_of_object(at.store, "hf://datasets/o/n/data/large one.tar")
        == std::string(200'000, 'x'));
  CHECK(content_of_object(at.store, "hf://datasets/o/n@a%2Fb/small.txt") == "small");
  CHECK(at.other.requests() > 0);
  CHECK_FALSE(at.is_leaked);
}

TEST_CASE("hub_store: a branch stays the commit that it was at first") {
  hub_bench at;
  at.write("x.txt", "first");
  CHECK(content_of_object(at.store, "hf://datasets/o/n/x.txt") == "first");
  const hub_store of_process{[&] { return at.service(); }};
  CHECK(content_of_object(of_process, "hf://datasets/o/n/x.txt") == "first");
  at.how.commit = std::string(40, 'b');
  std::atomic<int> others = 0;
  at.server.service = [&](const fault_server::request& x) -> std::optional<fault_server::response> {
    others += x.target.find(std::string(40, 'b')) != std::string::npos;
    return at.how(x);
  };
  CHECK(content_of_object(at.store, "hf://datasets/o/n/x.txt") == "first");
  const hub_store other_of_process{[&] { return at.service(); }};
  CHECK(content_of_object(other_of_process, "hf://datasets/o/n/x.txt") == "first");
  CHECK(others == 0);
  const hub_store anew{[&] { return at.service(); }, &at.pool};
  CHECK(content_of_object(anew, "hf://datasets/o/n/x.txt") == "first");
  CHECK(others > 0);
}

TEST_CASE(
    "hub_store: folders are listed page by page, also where a mirror's list leads elsewhere") {
  hub_bench at{2};
  for (const char* path :
       {"data/0.tar", "data/1.tar", "data/2.tar", "data/b c.txt", "data/d/x", "y"})
    at.write(path, path);
  const names all{"0.tar", "1.tar", "2.tar", "b c.txt", "d/"};
  CHECK(listed(at.store, "hf://datasets/o/n/data") == all);
  CHECK(listed(at.store, "hf://datasets/o/n@main/data/") == all);
  CHECK(listed(at.store, "hf://datasets/o/n") == names{"data/", "y"});
  CHECK(at.store.stat("hf://datasets/o/n/data").is == object_kind::folder);
  CHECK(at.store.stat("hf://datasets/o/n").is == object_kind::folder);
  CHECK(at.store.stat("hf://datasets/o/n/y").is == object_kind::plain);
  check_error([&] { (void)at.store.stat("hf://datasets/o/n/none"); }, {.code = errc::not_found});
  check_error([&] { (void)at.store.open({"hf://datasets/o/n/"}, read_pattern::normal); },
              {.code = errc::invalid_argument, .got = "all of a data set"});
}

TEST_CASE("hub_store: a list that leads to the same page for ever is an error") {
  hub_bench at;
  at.write("x.txt", "content");
  at.server.service = [&](const fault_server::request& x) {
    auto answer = at.how(x);
    if (answer && x.target.find("/tree/") != std::string::npos)
      answer->headers = "Link: <" + at.how.address + x.target + ">; rel=\"next\"\r\n";
    return answer;
  };
  check_error([&] { at.store.list("hf://datasets/o/n", [](const auto&) {}); },
              {.code = errc::io, .stage = "list", .got_has = "names itself"});
}

TEST_CASE("hub_store: patterns find what they find in files") {
  hub_bench at{2};
  for (const char* path : {"d/0.tar", "d/1.tar", "d/10.tar", "d/.2.tar", "e/5.tar", "7.tar"})
    at.write(path, path);
  remote_options how;
  how.endpoint = at.server.address();
  how.token = secret{"T"};
  const store_set set{how};
  const auto found = [&](const char* pattern) {
    return find_files({std::string{"hf://datasets/o/n"} + pattern}, "test", file_kinds::plain, set)
        .paths;
  };
  const std::string root = "hf://datasets/o/n@main/";
  CHECK(found("/d/?.tar") == names{root + "d/0.tar", root + "d/1.tar"});
  CHECK(found("@main/*/*.tar")
        == names{root + "d/0.tar", root + "d/1.tar", root + "d/10.tar", root + "e/5.tar"});
  CHECK(found("/*.tar") == names{root + "7.tar"});
  CHECK(found("/{d,e}/5.tar") == names{root + "d/5.tar", root + "e/5.tar"});
}

TEST_CASE("hub_store: refusals say what the Hub said, and what to do") {
  hub_bench at;
  at.write("x.txt", "content");
  const hub_store other{[&] { return at.service("PLANTED"); }, &at.pool};
  const auto problem = problem_of([&] { (void)other.stat("hf://datasets/o/n/x.txt"); });
  REQUIRE(problem);
  const std::string_view text{problem->what()};
  CAPTURE(text);
  CHECK(text.find("RepoNotFound") != std::string_view::npos);
  CHECK(text.find("HF_TOKEN") != std::string_view::npos);
  CHECK(text.find("PLANTED") == std::string_view::npos);
}

TEST_CASE("hub_store: an address that the Hub has given and that has expired is asked for anew") {
  hub_bench at;
  at.write("x.tar", std::string(100'000, 'x'));
  const object_store& store = at.store;
  const auto objects = store.open({"hf://datasets/o/n/x.tar"});
  CHECK(objects->stat(0).size == 100'000);
  std::atomic<int> refusals = 0;
  at.other.service = [&](const fault_server::request&) -> std::optional<fault_server::response> {
    if (refusals++ == 0)
      return fault_server::response{"403 Forbidden"};
    return {};
  };
  std::string bytes(100'000, '?');
  (void)read_most(*objects, 0, 0, std::as_writable_bytes(std::span{bytes}));
  CHECK(bytes == std::string(100'000, 'x'));
  CHECK(refusals > 1);
}

TEST_CASE("hub_store: requests in flight survive that the address of their object expires") {
  constexpr std::size_t parts = 8;
  std::mutex guard;
  std::condition_variable all_asked;
  std::size_t asked = 0;
  hub_bench at;
  std::string content(160'000, '?');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>('a' + i / 7 % 26);
  at.write("x.tar", content);
  const object_store& store = at.store;
  const auto objects = store.open({"hf://datasets/o/n/x.tar"});
  CHECK(objects->stat(0).size == content.size());
  at.how.signature = "2";
  at.serve();
  at.other.service = [&](const fault_server::request& x) -> std::optional<fault_server::response> {
    if (!x.target.ends_with("?sign=1"))
      return {};
    std::unique_lock lock{guard}; // all are in flight when the first one is refused
    ++asked;
    all_asked.notify_all();
    all_asked.wait_for(lock, std::chrono::seconds{2}, [&] { return asked >= parts; });
    return fault_server::response{"403 Forbidden"};
  };
  std::string bytes(content.size(), '?');
  std::atomic<int> failures = 0;
  in_threads(parts, [&](unsigned i) {
    const auto size = content.size() / parts;
    try {
      (void)read_most(*objects, 0, i * size,
                      std::as_writable_bytes(std::span{bytes}.subspan(i * size, size)));
    } catch (const error&) {
      ++failures;
    }
  });
  CHECK(failures == 0);
  CHECK(bytes == content);
}

TEST_CASE("hub_service: token and endpoint of options, environment and files") {
  temporary_directory dir;
  const auto asks = [&](environment around, const remote_options& chosen = {}) {
    around["HOME"] = dir.path();
    const auto x = find_hub_service(reader_of(around), chosen);
    const auto shown = shown_to(x, x.endpoint + "/x");
    CHECK(shown_to(x, "https://elsewhere.example/x").empty());
    CHECK(x.signer->follows_redirects());
    return x.endpoint + " " + (shown.empty() ? "nobody" : shown.front().substr(22));
  };
  const std::string usual = "https://huggingface.co ";
  CHECK(asks({}) == usual + "nobody");
  CHECK(asks({{"HF_TOKEN", " E "}}) == usual + "E");
  std::filesystem::create_directories(dir / ".cache/huggingface");
  write_content(dir / ".cache/huggingface/token", "F\n");
  CHECK(asks({}) == usual + "F");
  CHECK(asks({{"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}}) == usual + "nobody");
  for (const char* yes : {"1", "on", "Yes", "TRUE"})
    CHECK(asks({{"HF_TOKEN", "E"}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", yes}}) == usual + "nobody");
  for (const char* no : {"", "0", "false"})
    CHECK(asks({{"HF_HUB_DISABLE_IMPLICIT_TOKEN", no}}) == usual + "F");
  write_content(dir / "token", "G");
  CHECK(asks({{"HF_HOME", dir.path()}}) == usual + "G");
  CHECK(asks({{"HF_TOKEN_PATH", dir / "token"}, {"HF_HOME", "/none"}}) == usual + "G");
  CHECK(asks({{"HF_TOKEN", "E"}, {"HF_ENDPOINT", "https://mirror/"}}) == "https://mirror E");
  remote_options chosen;
  chosen.token = secret{"O"};
  chosen.endpoint = "https://own";
  CHECK(asks({{"HF_TOKEN", "E"}, {"HF_ENDPOINT", "https://mirror"}}, chosen) == "https://own O");
  chosen.token = {};
  CHECK(asks({{"HF_TOKEN", "E"}}, chosen) == "https://own nobody");
  remote_options nobody;
  nobody.anonymous = true;
  CHECK(asks({{"HF_TOKEN", "E"}}, nobody) == usual + "nobody");
  for (const environment& wrong :
       {environment{{"HF_TOKEN", "a\nPLANTED"}},
        environment{{"HF_TOKEN", "PLANTED"}, {"HF_ENDPOINT", "http://far.example"}}}) {
    const auto problem = problem_of([&] { (void)find_hub_service(reader_of(wrong)); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(std::string_view{problem->what()}.find("PLANTED") == std::string_view::npos);
  }
}

TEST_CASE("hub_answers: what is no list, or one of other files, is an error") {
  const auto read = [](const char* text) { return entries_in_tree(text, "d", "hf://x"); };
  CHECK(read("[]").empty());
  const auto one = read(R"([{"type": "file", "path": "d/x", "size": 5, "oid": "g"}])");
  REQUIRE(one.size() == 1);
  CHECK(one.front().name == "x");
  CHECK(one.front().version
        == object_version{.size = 5, .mtime_ns = object_version::no_time, .tag = "\"g\""});
  for (const char* wrong :
       {"", "{}", "[7]", R"([{"type": "file", "path": "e/x", "size": 5}])",
        R"([{"type": "file", "path": "d/x"}])", R"([{"type": "file", "path": "d/"}])",
        R"([{"type": "file", "path": "d/x", "size": -5}])",
        R"([{"type": "directory", "path": "d/e/f"}])"}) {
    CAPTURE(wrong);
    check_error([&] { (void)read(wrong); }, {.code = errc::io, .file = "hf://x"});
  }
  check_error([&] { (void)read(std::string(100'000, '[').c_str()); },
              {.code = errc::io, .file = "hf://x", .got_has = "levels"});
  CHECK(commit_in_facts("{\"cardData\":" + std::string(40, '[') + std::string(40, ']')
                            + ",\"sha\":\"" + std::string(40, 'a') + "\"}",
                        "hf://x")
        == std::string(40, 'a'));
  for (const char* wrong : {"", "[]", R"({"sha": "main"})", R"({"sha": 7})"})
    check_error([&] { (void)commit_in_facts(wrong, "hf://x"); }, {.code = errc::io});
}

TEST_CASE("http_head: another page is named by a link") {
  const auto next = [](const char* value) {
    http_head x;
    x.link = value;
    return next_in_links(x);
  };
  CHECK(next("<https://h/a?b=c>; rel=\"next\"") == "https://h/a?b=c");
  CHECK(next("<https://h/1>; rel=\"first\", <https://h/2>; rel=\"next\"") == "https://h/2");
  CHECK(next("<https://h/1>; rel=\"first\"").empty());
  for (const char* wrong : {"", "<", ">", "><", "<a", "a>; rel=\"next\""})
    CHECK(next(wrong).empty());
}

} // namespace
} // namespace leat::hub_test
