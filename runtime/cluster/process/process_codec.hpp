#pragma once

#include "messages/cluster/incarnation.hpp"
#include "messages/cluster/job_rules.hpp"
#include "messages/cluster/process_identity.hpp"

namespace leat {

namespace wire {
class Incarnation;
class JobRules;
class Process;
} // namespace wire

// Processes, and what they want alike, as messages and state files have them: `write` fills the
// message, `read` the struct.

void write(const incarnation& x, wire::Incarnation& to);
incarnation read(const wire::Incarnation& x);
void write(const process_identity& x, wire::Process& to);
process_identity read(const wire::Process& x);
void write(const job_rules& x, wire::JobRules& to);
job_rules read(const wire::JobRules& x);

} // namespace leat
