#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/sanitized.hpp"

// Tokens and keys are in nothing that a job writes: neither where all is right nor in what is said
// of errors.
namespace leat::test::cluster_secrets_test {
namespace {

constexpr auto token = "planted-token-5b1f";
constexpr auto wrong_token = "planted-guess-77aa";

std::vector<std::string> lines_of_keys(const std::string& directory) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    if (entry.path().filename().native().ends_with("key.pem")) {
      std::istringstream in{read_file(entry.path())};
      for (std::string line; std::getline(in, line);)
        if (!line.starts_with("-----"))
          all.push_back(line.substr(0, 24));
    }
  return all;
}

/// Runs commands with this token, whatever was set before.
words with(const std::string& secret) {
  return {"/usr/bin/env", "LEAT_CLUSTER_TOKEN=" + secret};
}

/// All that the commands have written; also what they keep.
std::string written_below(const std::string& directory, const std::string& but) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    if (entry.is_regular_file() && !entry.path().native().starts_with(but))
      all += entry.path().native() + ":\n" + read_file(entry.path()) + "\n";
  return all;
}

} // namespace

TEST_CASE("neither tokens nor keys are in logs, errors, statuses and state") {
  const bool is_secured = GENERATE(false, true);
  cluster_job job{
      "count(1200).shuffle(seed=5).batch(12, lanes=12)",
      1,
      2,
      {"--step-time", sanitized ? "200" : "60", "--snapshot-every", "30", "--beat", "100"}};
  const auto& bench = job.bench;
  const auto authority = bench.at / "ca";
  const auto certificate = [&](const std::string& role) {
    if (!is_secured)
      return words{};
    bench.succeed({"certs", "issue", authority, role, "--role", role});
    return words{"--certs", authority + "/" + role};
  };
  bench.succeed({"certs", "init", authority});
  std::string said; // by commands that end at once
  const auto note = [&](const outcome& x, int code) {
    CAPTURE(x.errors);
    CHECK(x.code == code);
    said += x.output + x.errors;
  };
  const auto ask = [&](const words& command, const std::string& with_token) {
    return bench.leat(command, "LEAT_CLUSTER_TOKEN=" + with_token);
  };
  coordinator_process lead{bench, "lead",
                           words{"--state", bench.at / "state", "--bind", "127.0.0.1:0",
                                 "--lost-after", "3", "--lease", "5", "--last-call", "1"}
                               + certificate("coordinator"),
                           with(token)};
  const auto at = words{"--cluster", lead.address()};
  const auto own = certificate("rank");
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    job.take(rank, job.launch(std::to_string(rank), job.log_of(rank), at + job.seat(rank) + own, "",
                              with(token)));
  job.wait_for_batches(0, 3);
  const words status{"cluster", "status", "--join", lead.address()};
  const auto observer = certificate("observer");
  note(ask(status + observer, token), 0);
  note(ask(status + observer + words{"--json"}, token), 0);
  note(ask(status + observer, wrong_token), 1);
  const auto rank = words{"run", "--pipeline", bench.at / "job.leat", "--epochs",
                          "1",   "--json",     "--join-within",       "1"}
                    + job.seat(1) + at;
  note(ask(rank + own, wrong_token), 1);
  note(ask(rank, token), 1); // a second rank 1, or one without a certificate
  if (is_secured) {
    const auto keys = authority + "/rank/key.pem";
    const auto kept = read_file(keys);
    std::ofstream{keys} << kept.substr(0, kept.size() / 2);
    note(ask(rank + own, token), 1);
    std::ofstream{keys} << kept;
    std::filesystem::permissions(keys, std::filesystem::perms{0644});
    note(ask(rank + own, token), 1);
    std::filesystem::permissions(keys, std::filesystem::perms{0600});
    bench.succeed({"certs", "issue", authority, "other", "--role", "rank"});
    std::ofstream{keys} << read_file(authority + "/other/key.pem");
    note(ask(rank + own, token), 1);
    std::ofstream{keys} << kept;
  }
  job.check_end();
  CHECK(lead.end() == 0);
  said += lead.errors() + written_below(bench.at.path(), authority);
  auto secrets = lines_of_keys(authority);
  REQUIRE(secrets.size() >= 3);
  secrets.emplace_back(token);
  secrets.emplace_back(wrong_token);
  for (const auto& x : secrets)
    CHECK_FALSE(contains(said, x));
  CHECK(contains(said, "refused a connection from 127.0.0.1")); // it was told of
}

} // namespace leat::test::cluster_secrets_test
