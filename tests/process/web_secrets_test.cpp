#include "tests/support/command.hpp"
#include "tests/support/fault_server.hpp"
#include "tests/support/files.hpp"

// What is secret in addresses, of data, of proxies and of where servers redirect to, is in nothing
// that a job writes.
namespace leat::test::web_secrets_test {
namespace {

constexpr auto secret = "planted5b1f";
const std::string query = std::string{"?X-Amz-Signature="} + secret;
const std::string user = std::string{"user:"} + secret + "@";

/// All files of a folder, and their names.
std::string written_below(const std::string& directory) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    if (entry.is_regular_file())
      all += entry.path().native() + ":\n" + read_file(entry.path()) + "\n";
  return all;
}

struct secret_bench : command_bench {
  temporary_directory served;

  /// All that a job over this address says and keeps; it must end with this code.
  std::string job(const std::string& address, int code, const std::string& before = "") const {
    std::filesystem::remove_all(at / "sets");
    std::filesystem::remove(at / "log");
    const auto job =
        pipeline(R"(raw_records(")" + address + R"(", dtype="u8", shape=[4]).batch(2))");
    const auto x = leat(words{"run", "--epochs", "1", "--json", "--log", at / "log",
                              "--snapshot-dir", at / "sets", "--snapshot-every", "2"}
                            + job,
                        before);
    CAPTURE(address, x.errors);
    CHECK(x.code == code);
    std::filesystem::remove(at / "job.leat"); // it has what its author wrote into it
    auto said = x.output + x.errors + written_below(at.path());
    CAPTURE(said);
    CHECK_FALSE(contains(said, secret));
    return said;
  }
};

} // namespace

TEST_CASE("what is secret in addresses is in no log, snapshot, error or output") {
  const secret_bench bench;
  write_content(bench.served / "x.raw", std::string(40, 'x'));
  write_content(bench.served / "signed.raw", std::string(40, 'x'));
  fault_server server{bench.served.path(), [](const auto& x) {
                        return x.path.starts_with("refused") ? fault::forbidden : fault::none;
                      }};
  server.redirects["moved.raw"] = server.url("signed.raw" + query);
  server.redirects["lost.raw"] = server.url("lost2.raw" + query);
  server.redirects["closed.raw"] = server.url("refused.raw" + query);
  server.redirects["odd.raw"] = "ftp://" + user + "127.0.0.1/x" + query;
  const std::string direct = "export no_proxy=127.0.0.1;";
  const auto host = server.address().substr(std::string_view{"http://"}.size());
  std::string said;
  said += bench.job(server.url("x.raw"), 0, direct);
  said += bench.job(server.url("moved.raw"), 0, direct);
  CHECK(contains(said, "moved.raw"));
  for (const std::string name : {"lost.raw", "closed.raw", "odd.raw"})
    said += bench.job(server.url(name), 1, direct);
  CHECK(contains(said, "AccessDenied"));
  for (const auto& x : {"http://" + user + host + "/x.raw", server.url("x.raw" + query),
                        "http://" + user + host + "/*.raw", "s3://" + user + "data/x.raw" + query})
    said += bench.job(x, 1, direct);
  said += bench.job("http://data.example.org/x.raw", 1,
                    "unset no_proxy NO_PROXY; export http_proxy=http://" + user + host + ";");
  CHECK(contains(said, "404"));
  CHECK_FALSE(contains(said, secret));
}

TEST_CASE("what is secret in addresses of indexes is in no error") {
  const secret_bench bench;
  for (const std::string option : {"--index-dir", "--out"})
    for (const auto& place :
         {"https://" + user + "h.example/x", "https://h.example/x.leat-manifest" + query,
          "s3://" + user + "data/x" + query, "ftp://" + user + "h.example/x" + query}) {
      const auto x = bench.leat({"index", "s3://b/0.tar", option, place});
      CAPTURE(option, place, x.errors);
      CHECK(x.code == 1);
      CHECK_FALSE(contains(x.output + x.errors, secret));
    }
}

TEST_CASE("keys of buckets are in no log, snapshot, error or output") {
  const secret_bench bench;
  std::filesystem::create_directory(bench.served / "bucket");
  write_content(bench.served / "bucket/x.raw", std::string(40, 'x'));
  std::atomic<int> signed_requests = 0;
  const fault_server server{bench.served.path(), [&](const auto& x) {
                              signed_requests += x.headers.contains("Authorization") ? 1 : 0;
                              return contains(x.path, "refused") ? fault::forbidden : fault::none;
                            }};
  const auto keys = "export no_proxy=127.0.0.1 AWS_ENDPOINT_URL=" + server.address()
                    + " AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=" + secret
                    + " AWS_SESSION_TOKEN=" + secret + ";";
  bench.job("s3://bucket/x.raw", 0, keys);
  CHECK(signed_requests > 0);
  CHECK(contains(bench.job("s3://bucket/refused.raw", 1, keys), "AccessDenied"));
  bench.job("s3://bucket/none.raw", 1, keys);
  bench.job("s3://user:" + std::string{secret} + "@bucket/x.raw", 1, keys);
}

TEST_CASE("keys of Google's and tokens of the Hub are in no log, snapshot, error or output") {
  const secret_bench bench;
  std::filesystem::create_directory(bench.served / "bucket");
  write_content(bench.served / "bucket/x.raw", std::string(40, 'x'));
  std::atomic<int> shown = 0;
  fault_server server{bench.served.path(), [&](const auto& x) {
                        shown += x.headers.contains("Authorization") ? 1 : 0;
                        return contains(x.path, "refused") ? fault::forbidden : fault::none;
                      }};
  const std::string direct = "export no_proxy=127.0.0.1 ";
  const auto keys = direct + "STORAGE_EMULATOR_HOST=" + server.address()
                    + " GS_ACCESS_KEY_ID=AK GS_SECRET_ACCESS_KEY=" + secret + ";";
  bench.job("gs://bucket/x.raw", 0, keys);
  CHECK(shown.exchange(0) > 0);
  bench.job("gs://bucket/refused.raw", 1, keys);
  const auto token = direct + "HF_ENDPOINT=" + server.address() + " HF_TOKEN=" + secret + ";";
  bench.job("hf://datasets/o/n/x.raw", 1, token);
  CHECK(shown.exchange(0) > 0);
  bench.job("hf://datasets/o/refused/x.raw", 1, token);
  write_content(bench.served / "key.json",
                R"({"type": "authorized_user", "client_id": "c", "client_secret": ")"
                    + std::string{secret} + R"(", "refresh_token": ")" + secret
                    + R"(", "token_uri": ")" + server.address() + R"(/token"})");
  bench.job("gs://bucket/x.raw", 1,
            direct + "GOOGLE_APPLICATION_CREDENTIALS=" + (bench.served / "key.json") + ";");
}

} // namespace leat::test::web_secrets_test
