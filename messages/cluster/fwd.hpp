#pragma once

// Declares every type that the actors of a cluster send. The structs travel between processes as
// bytes (runtime/cluster/message_codec); the atoms stay within a process.

#include "messages/fwd.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

namespace leat {

struct cluster_beat;
struct cluster_hello;
struct cluster_part;
struct cluster_status;
struct cluster_word;
struct set_command;

} // namespace leat

CAF_BEGIN_TYPE_ID_BLOCK(leat_cluster, caf::id_block::leat::end)

  CAF_ADD_TYPE_ID(leat_cluster, (leat::cluster_beat))
  CAF_ADD_TYPE_ID(leat_cluster, (leat::cluster_hello))
  CAF_ADD_TYPE_ID(leat_cluster, (leat::cluster_part))
  CAF_ADD_TYPE_ID(leat_cluster, (leat::cluster_status))
  CAF_ADD_TYPE_ID(leat_cluster, (leat::cluster_word))

  CAF_ADD_ATOM(leat_cluster, leat, tick_atom, "tick")
  CAF_ADD_ATOM(leat_cluster, leat, say_atom, "say")
  CAF_ADD_ATOM(leat_cluster, leat, dial_atom, "dial")
  CAF_ADD_ATOM(leat_cluster, leat, look_atom, "look")
  CAF_ADD_ATOM(leat_cluster, leat, stored_atom, "stored")

CAF_END_TYPE_ID_BLOCK(leat_cluster)

// Stays in one process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::set_command)
