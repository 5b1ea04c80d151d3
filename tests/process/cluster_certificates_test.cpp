#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"

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

} // namespace

TEST_CASE("ranks with certificates hand over what one process does, and others get no seat") {
  certified_job job;
  job.start(0, job.certificate({"coordinator", "rank"}));
  const auto at = job.with_coordinator(1);
  while (!contains(read_file(job.errors_of(0)), "listens at") && job.rank(0).is_running())
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  job.check_refused(at, {"no seat within 2 s"});
  job.check_refused(at + job.certificate({"rank"}, "other"), {"no seat within 2 s", "certificate"});
  job.check_refused(at + job.certificate({"worker"}), {"whose roles are: worker"});
  job.check_refused(at + words{"--certs", job.bench.at / "none"}, {"none/ca.pem"});
  job.start(1, job.certificate({"rank"}));
  job.check_end();
}

TEST_CASE("certificates are renewed while a job runs, and an observer needs one") {
  certified_job job{{"--step-time", "5", "--snapshot-every", "30"}};
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
  // A file that is not whole yet: the old ones stay.
  const auto key = lead_has.back() + "/key.pem";
  const auto kept = read_file(key);
  std::ofstream{key} << "half";
  CHECK(contains(looks(), "running"));
  std::ofstream{key} << kept;
  (void)job.certificate({"coordinator"});
  (void)job.certificate({"rank"});
  job.rank(1).kill();
  job.start_process(1, job.seat(1, lead) + rank_has);
  CHECK(contains(looks(), "term"));
  job.check_end();
}

} // namespace leat::test::cluster_certificates_test
