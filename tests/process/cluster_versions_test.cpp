#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/link_site.hpp"

// Processes of versions that do not understand each other, and jobs with a secret: what their users
// read.
namespace leat::test::cluster_versions_test {
namespace {

constexpr auto version = "9.8.7-odd";
constexpr auto what_to_do = "all processes of a job must have the same version";

/// The protocols of another version, older or newer than this one.
struct other_version {
  std::uint32_t least;
  std::uint32_t newest;
  const char* told_of_rank; // which is this version
};

constexpr std::array others{
    other_version{0, least_link_protocol - 1, "too new"},
    other_version{newest_link_protocol + 1, newest_link_protocol + 3, "too old"}};

/// The options for certificates, or none.
struct cluster_site {
  words certificate(link_role role) const {
    return is_secured ? words{"--certs", site.issue(std::string{to_string(role)}, {role})}
                      : words{};
  }
  std::shared_ptr<const certificates> own(link_role role) const {
    return is_secured ? site.make(role) : nullptr;
  }

  bool is_secured;
  link_site site = {};
};

} // namespace

TEST_CASE("a rank and an observer of another version than their coordinator's are told so") {
  const cluster_site site{GENERATE(false, true)};
  const command_bench bench;
  const auto job = bench.pipeline("count(100).batch(10)");
  for (const auto& x : others) {
    port_guard lead{{.at = parse_ip("127.0.0.1").value(),
                     .certificates = site.is_secured ? certificates_in(
                                         site.site.issue("lead", {link_role::coordinator}),
                                         link_role::coordinator)
                                                     : nullptr,
                     .rules = {.roles = {link_role::rank, link_role::observer},
                               .token = secret{"secret"},
                               .version = version,
                               .least_protocol = x.least,
                               .newest_protocol = x.newest}}};
    lead.begin([](const connected_peer&) { FAIL("admitted"); });
    const auto at = "127.0.0.1:" + std::to_string(lead.port());
    bench.says(
        words{"run"} + job
            + words{"--cluster", at, "--rank", "0", "--world-size", "1", "--join-within", "1"}
            + site.certificate(link_role::rank),
        1, {x.told_of_rank, "leat " + own_version(), std::string{"leat "} + version, what_to_do},
        "LEAT_CLUSTER_TOKEN=secret");
    bench.says(words{"cluster", "status", "--join", at} + site.certificate(link_role::observer), 1,
               {x.told_of_rank, std::string{"leat "} + version, what_to_do},
               "LEAT_CLUSTER_TOKEN=secret");
  }
}

TEST_CASE("a coordinator tells ranks of other versions so, and its log does, too") {
  const cluster_site site{GENERATE(false, true)};
  const cluster_job job{"count(100).batch(10)", 1, 1, {}};
  coordinator_process lead = job.coordinator("lead", site.certificate(link_role::coordinator)
                                                         + words{"--bind", "127.0.0.1:0"});
  for (const auto& x : others) {
    const dial_wish wish{.to = {"127.0.0.1", lead.port()},
                         .own = site.own(link_role::rank),
                         .hello = {.least_protocol = x.least,
                                   .protocol = x.newest,
                                   .version = version,
                                   .role = link_role::rank,
                                   .token = secret{"secret"}}};
    try {
      dial_peer(wish, nullptr);
      FAIL("admitted");
    } catch (const link_refused& problem) {
      const std::string text{problem.what()};
      const bool is_newer = x.least > newest_link_protocol;
      CHECK(problem.reason() == (is_newer ? refusal_reason::too_new : refusal_reason::too_old));
      for (const auto& part :
           {"leat " + own_version(), std::string{"leat "} + version, std::string{what_to_do}})
        CHECK(contains(text, part));
      lead.wait_for_log(std::string{"which is too "} + (is_newer ? "new" : "old"));
    }
  }
  CHECK(count_of(lead.errors(), "refused a connection from 127.0.0.1") == 2);
  lead.signal(SIGTERM);
  CHECK(lead.end() == 143);
}

} // namespace leat::test::cluster_versions_test
