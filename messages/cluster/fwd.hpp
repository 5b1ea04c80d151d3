#pragma once

// Declares every type that the actors of a cluster send. All of them stay within a process: between
// processes links carry frames (actors/caf/link), in which the structs are bytes
// (runtime/cluster/message_codec).

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
struct dial_answer;
struct set_command;

} // namespace leat

CAF_BEGIN_TYPE_ID_BLOCK(leat_cluster, caf::id_block::leat::end)

  CAF_ADD_ATOM(leat_cluster, leat, tick_atom, "tick")
  CAF_ADD_ATOM(leat_cluster, leat, say_atom, "say")
  CAF_ADD_ATOM(leat_cluster, leat, dial_atom, "dial")
  CAF_ADD_ATOM(leat_cluster, leat, look_atom, "look")
  CAF_ADD_ATOM(leat_cluster, leat, stored_atom, "stored")

CAF_END_TYPE_ID_BLOCK(leat_cluster)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::cluster_beat)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::cluster_hello)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::cluster_part)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::cluster_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::cluster_word)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::dial_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::set_command)
