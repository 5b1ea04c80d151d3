#include "runtime/network/certs/certificate_files.hpp"
#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/odd_certificates.hpp"
#include "tests/support/sanitized.hpp"

// Jobs whose processes have certificates: they hand over what one process does, and nobody else
// takes part.
namespace leat::test::cluster_certificates_test {
namespace {

constexpr auto indexed = R"(count(1200).shuffle(seed=5).batch(12, lanes=12))";

/// A job with an authority of its own.
struct certified_job : cluster_job {
  explicit certified_job(const words& options = {"--step-time", "1"})
      : cluster_job(indexed, 1, 2, options) {
    bench.succeed({"certs", "init", bench.at / "ca"});
    bench.succeed({"certs", "init", bench.at / "other"});
  }

  /// The options for a certificate in these roles.
  words certificate(const words& roles, const std::string& authority = "ca") const {
    std::string name;
    words command{"certs", "issue", bench.at / authority};
    words more;
    for (const auto& role : roles) {
      name += role;
      more = more + words{"--role", role};
    }
    bench.succeed(command + words{name} + more);
    return {"--certs", bench.at / authority + "/" + name};
  }

  /// The errors of a rank that gets no seat.
  void check_refused(const words& more, const words& parts) const {
    bench.says(words{"run", "--pipeline", bench.at / "job.leat", "--epochs", "1"}
                   + words{"--join-within", "2"} + more,
               1, parts, "LEAT_CLUSTER_TOKEN=secret");
  }
};

/// So that a job runs for as long as it is looked at.
constexpr auto step_ms = sanitized ? "150" : "40";

} // namespace

TEST_CASE("ranks with certificates hand over what one process does, and others get no seat") {
  certified_job job;
  job.start(0, job.certificate({"coordinator", "rank"}));
  const auto at = job.with_coordinator(1);
  while (!contains(read_file(job.errors_of(0)), "listens at") && job.rank(0).is_running())
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  job.check_refused(at, {"no seat within 2 s", "with other certificates, or without"});
  job.check_refused(at + job.certificate({"rank"}, "other"), {"no seat within 2 s", "certificate"});
  job.check_refused(at + job.certificate({"worker"}), {"whose roles are: worker"});
  job.check_refused(at + words{"--certs", job.bench.at / "none"}, {"none/ca.pem"});
  job.start(1, job.certificate({"rank"}));
  job.check_end();
}

TEST_CASE("certificates are renewed while a job runs, and an observer needs one") {
  certified_job job{{"--step-time", step_ms, "--snapshot-every", "30"}};
  const auto lead_has = job.certificate({"coordinator"});
  coordinator_process lead = job.coordinator("lead", lead_has);
  const auto rank_has = job.certificate({"rank"});
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    job.start_process(rank, job.seat(rank, lead) + rank_has);
  job.wait_for_batches(0, 3);
  const words status{"cluster", "status", "--join", lead.address()};
  job.bench.says(status, 1, {lead.address()}, "LEAT_CLUSTER_TOKEN=secret");
  const auto looks = [&] {
    return job.bench
        .says(status + job.certificate({"observer"}), 0, {}, "LEAT_CLUSTER_TOKEN=secret")
        .output;
  };
  CHECK(contains(looks(), "running"));
  // Wrong ones: a file that is not whole yet, one that others may read, one of another authority,
  // one that has ended, one of another role. The old ones stay, and each is told of.
  const auto key = lead_has.back() + "/key.pem";
  const auto certificate = lead_has.back() + "/cert.pem";
  const auto kept_key = read_file(key);
  const auto kept_certificate = read_file(certificate);
  const auto other = job.certificate({"coordinator"}, "other").back();
  const auto worker = job.certificate({"worker"}).back();
  odd_certificate authority;
  authority.certificate = std::move(read_certificates(job.bench.at / "ca/ca.pem").front());
  authority.key = read_key(job.bench.at / "ca/ca-key.pem", *authority.certificate);
  const auto ended = make_odd(&authority, {.names = "URI:leat:coordinator", .from = -9, .to = -3});
  const auto check_kept = [&](const std::string& new_certificate, const std::string& new_key,
                              const std::string& why) {
    write_content(certificate, new_certificate);
    write_content(key, new_key);
    CHECK(contains(looks(), "running"));
    lead.wait_for_log(why);
    CHECK(contains(lead.errors(), "are wrong; the old ones stay in use"));
    write_content(certificate, kept_certificate);
    write_content(key, kept_key);
  };
  check_kept(kept_certificate, "half", "no private key");
  check_kept(read_file(other + "/cert.pem"), read_file(other + "/key.pem"),
             "not of the authority in ca.pem");
  check_kept(pem_of(ended.certificate.get()), pem_of(ended.key.get()), "which has ended");
  check_kept(read_file(worker + "/cert.pem"), read_file(worker + "/key.pem"),
             "whose roles are: worker");
  std::filesystem::permissions(key, std::filesystem::perms{0604});
  CHECK(contains(looks(), "running"));
  lead.wait_for_log("all users of this machine may open (mode 0604)");
  std::filesystem::permissions(key, std::filesystem::perms{0600});
  (void)job.certificate({"coordinator"});
  (void)job.certificate({"rank"});
  job.rank(1).kill();
  job.start_process(1, job.seat(1, lead) + rank_has);
  CHECK(contains(looks(), "term"));
  job.check_end();
}

TEST_CASE("another authority takes over while a job runs") {
  certified_job job{{"--step-time", step_ms, "--snapshot-every", "30"}};
  const auto lead_has = job.certificate({"coordinator"}).back();
  coordinator_process lead = job.coordinator("lead", {"--certs", lead_has});
  const auto rank_has = job.certificate({"rank"}).back();
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    job.start_process(rank, job.seat(rank, lead) + words{"--certs", rank_has});
  job.wait_for_batches(0, 3);
  // As the documents say: both authorities everywhere, then the new certificates.
  const auto both = read_file(lead_has + "/ca.pem") + read_file(job.bench.at / "other/ca.pem");
  for (const auto& x : {lead_has, rank_has})
    write_content(x + "/ca.pem", both);
  const auto other_lead = job.certificate({"coordinator"}, "other").back();
  const auto other_rank = job.certificate({"rank"}, "other").back();
  for (const auto* file : {"/key.pem", "/cert.pem"})
    write_content(rank_has + file, read_file(other_rank + file));
  job.rank(1).kill();
  job.start_process(1, job.seat(1, lead) + words{"--certs", rank_has});
  job.wait_for_batches(1, job.batches_of(1) + 2);
  for (const auto* file : {"/key.pem", "/cert.pem"})
    write_content(lead_has + file, read_file(other_lead + file));
  job.rank(1).kill();
  job.start_process(1, job.seat(1, lead) + words{"--certs", rank_has});
  job.check_end();
  CHECK(lead.end() == 0);
}

TEST_CASE("a certificate that ends soon is told of, and one that may not be used, refused") {
  certified_job job;
  const auto& bench = job.bench;
  bench.succeed(
      {"certs", "issue", bench.at / "ca", "soon", "--role", "coordinator", "--days", "20"});
  const auto at = bench.at / "ca/soon";
  const words command{"coordinator", "--state", bench.at / "state", "--bind", "127.0.0.1:0",
                      "--certs",     at};
  {
    const coordinator_process lead = job.coordinator("lead", {"--certs", at});
    lead.wait_for_log("replace it before that (leat certs issue)");
    CHECK(count_of(lead.errors(), "replace it before that") == 1);
  }
  const auto key = at + "/key.pem";
  std::filesystem::permissions(key, std::filesystem::perms{0644});
  bench.says(command, 1, {key, "all users of this machine may open (mode 0644)", "chmod o="});
  std::filesystem::permissions(key, std::filesystem::perms{0640}); // its group may
  {
    const coordinator_process lead = job.coordinator("group", {"--certs", at});
    CHECK(lead.listens());
  }
  odd_certificate authority;
  authority.certificate = std::move(read_certificates(bench.at / "ca/ca.pem").front());
  authority.key = read_key(bench.at / "ca/ca-key.pem", *authority.certificate);
  const auto write = [&](long from, long to) {
    const auto x = make_odd(&authority, {.names = "URI:leat:coordinator", .from = from, .to = to});
    write_identity(at, authority.certificate.get(), x);
  };
  write(-2000, -1000);
  bench.says(command, 1, {at + "/cert.pem", "which has ended", "leat certs issue"});
  write(1000, 2000);
  bench.says(command, 1, {at + "/cert.pem", "not valid yet", "a clock that is right"});
}

} // namespace leat::test::cluster_certificates_test
