// The judge notices each rule of the protocol that is left out.
#include "tests/cluster/cluster_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

namespace leat::cluster_breaks_test {

using namespace leat::test;

namespace {

struct broken_rule {
  /// The rule's number in the model's table.
  const char* number;
  const char* text;
  rule left_out;
  focus where;
};

using enum rule;

const broken_rule all_rules[] = {
    {"8", "no lease, no batch, and no end", no_lease_no_batch, focus::seats},
    {"9", "a lease counts from the question", lease_counts_from_question, focus::leases},
    {"11", "silence frees no seat", silence_frees_no_seat, focus::seats},
    {"12", "leases end with what the directory says", directory_bounds_leases, focus::seats},
    {"13", "terms and seats are durable before they are told", terms_are_durable, focus::seats},
    {"14", "sets are of one term", sets_are_of_one_term, focus::sets},
    {"14", "sets are whole", sets_are_whole, focus::sets},
    {"14", "parts go with the life that saved them", parts_go_with_their_life, focus::alone},
    {"15", "one set at a time is collected", one_set_at_a_time, focus::sets},
    {"16", "a set that cannot be completed is given up", lost_sets_are_given_up, focus::seats},
    {"17", "a rank has passed what it will not save", saves_before_moving_on, focus::seats},
    {"18", "ends of epochs are repeated", ends_are_repeated, focus::alone},
    {"19", "who comes back begins at the newest set", returns_at_newest_set, focus::alone},
    {"22", "what is said is said until it is heard", statements_until_heard, focus::told},
    {"23", "nobody leaves before the job is over", nobody_leaves_early, focus::anything},
    {"24", "the trainer names the step of a rank that comes back", trainer_names_step,
     focus::alone},
    {"24", "trainers of former lives are fenced", trainer_is_fenced, focus::alone},
};

} // namespace

TEST_CASE("each rule of the protocol that is left out is seen") {
  constexpr std::uint64_t first = 8300000;
  constexpr std::uint64_t most = 400;
  for (const auto& x : all_rules) {
    run_result found;
    auto seed = first;
    for (; seed < first + most; ++seed) {
      found = cluster_run{seed, x.where, {x.left_out}}.result();
      if (found.what == outcome::wrong || found.what == outcome::stuck)
        break;
    }
    const bool is_seen = seed < first + most;
    std::cout << "without " << x.number << ", " << x.text << ": "
              << (is_seen ? "seen after " + std::to_string(seed - first + 1)
                                + " runs: " + found.text.substr(0, found.text.find('\n'))
                          : "not seen in " + std::to_string(most) + " runs")
              << "\n";
    CHECK(is_seen);
  }
}

} // namespace leat::cluster_breaks_test
