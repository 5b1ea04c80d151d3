#pragma once

// The protocol between the processes of a cluster on one page: read this file to see who sends what
// to whom.

#include "messages/cluster/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <string>

namespace leat {

/// One per rank: reports what the rank has and does, and learns what it may do.
using member_actor = caf::typed_actor<
    // From the coordinator, in answer to each beat and whenever something has changed.
    caf::reacts_to<cluster_word>,
    // The trainer's side has something to report.
    caf::reacts_to<say_atom>,
    // Time has passed.
    caf::reacts_to<tick_atom>>;

/// One per job: knows who holds which seat, since when and from which set; where epochs end; what
/// has failed.
using coordinator_actor = caf::typed_actor<
    // The first message on each connection of a rank.
    caf::reacts_to<cluster_hello>,
    // A rank's whole state, every second or so.
    caf::reacts_to<cluster_beat>,
    // A piece of a part of a set, as a word requested it.
    caf::reacts_to<cluster_part>,
    // The set at this epoch and step is stored, or else the text has the reason why not.
    caf::reacts_to<stored_atom, std::uint64_t, std::uint64_t, std::string>,
    // Time has passed.
    caf::reacts_to<tick_atom>,
    // An observer with this token asks for the job's status.
    caf::replies_to<look_atom, std::string>::with<cluster_status>>;

/// Runs next to the coordinator and writes its sets, each into one file.
using set_store_actor = caf::typed_actor<
    // Carried out in order. The outcome of a set goes to the coordinator, as `stored_atom`.
    caf::reacts_to<set_command>>;

/// What came of dialing a coordinator.
struct dial_answer {
  /// A link to it, which ends with whoever asked; null if that has failed.
  coordinator_actor link = {};
  /// Why, and what is needed.
  std::string problem = {};
  std::string needed = {};
  /// Somebody is there who does not answer.
  bool is_unanswered = false;
};

/// One per process: connects to a coordinator and finds out who it is, which may take seconds.
using dialer_actor = caf::typed_actor<
    // A rank, which hears the coordinator's words, or an observer wants a link to host and port.
    caf::replies_to<dial_atom, std::string, std::uint16_t>::with<dial_answer>>;

} // namespace leat
