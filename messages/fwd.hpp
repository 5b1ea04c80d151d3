#pragma once

// Names every type that crosses an actor boundary, once. All of them stay in one process so far:
// they borrow batch slots, so none may travel over a network.

#include "messages/chunk.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

#include <memory>

namespace leat {

class batch_slot;
class error;
struct save_report;
struct save_request;

using slot_ptr = std::shared_ptr<batch_slot>;
using error_ptr = std::shared_ptr<const error>;

} // namespace leat

CAF_BEGIN_TYPE_ID_BLOCK(leat, caf::first_custom_type_id)

  // CAF 0.17 packs an atom into 64 bits: ten characters at most.
  CAF_ADD_ATOM(leat, leat, start_atom, "start")
  CAF_ADD_ATOM(leat, leat, deal_atom, "deal")
  CAF_ADD_ATOM(leat, leat, complete_atom, "complete")
  CAF_ADD_ATOM(leat, leat, free_atom, "free")
  CAF_ADD_ATOM(leat, leat, resize_atom, "resize")
  CAF_ADD_ATOM(leat, leat, retire_atom, "retire")
  CAF_ADD_ATOM(leat, leat, settle_atom, "settle")
  CAF_ADD_ATOM(leat, leat, run_atom, "run")
  CAF_ADD_ATOM(leat, leat, epoch_atom, "epoch")
  CAF_ADD_ATOM(leat, leat, rewind_atom, "rewind")
  CAF_ADD_ATOM(leat, leat, fail_atom, "fail")

CAF_END_TYPE_ID_BLOCK(leat)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::chunk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::slot_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::error_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::save_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(leat::save_request)
