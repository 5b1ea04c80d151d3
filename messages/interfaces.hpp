#pragma once

// Every actor's protocol on one page: read this file to see the architecture.

#include "messages/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace leat {

/// Reads, decodes and augments: runs rows of batches, writing straight into their slots.
using worker_actor = caf::typed_actor<
    // Runs the rows dealt by name, then claims rows until the batch has none left. Tells the
    // batcher if the batch's last row was among them.
    caf::reacts_to<chunk>,
    // Quits after the chunks that came before.
    caf::reacts_to<retire_atom>>;

/// Owns the slots and the in-flight ledger: closes batches in order and hands them to the loader's
/// door.
using batcher_actor = caf::typed_actor<
    // Begins a batch in a slot that no lease and no worker uses: a new one, or one whose lease
    // ended.
    caf::reacts_to<free_atom, slot_ptr>,
    // Every row of this slot's batch is done, or it has no rows.
    caf::reacts_to<complete_atom, slot_ptr>,
    // Workers will probe the items of this slot: it comes back to the dispatcher when all are done.
    caf::reacts_to<probe_atom, slot_ptr>,
    // The dispatcher will deal to this worker: monitor it.
    caf::reacts_to<watch_atom, std::uint32_t, worker_actor>,
    // Nothing is dealt to the first worker any more. The second takes over its unfinished rows.
    caf::reacts_to<inherit_atom, std::uint32_t, std::uint32_t, worker_actor>,
    // The dispatcher cannot continue, so no batch can.
    caf::reacts_to<fail_atom, error_ptr>>;

/// Runs the iterators of all rounds, numbers the batches and deals their rows. Owns the workers.
using dispatcher_actor = caf::typed_actor<
    // Spawns the workers and tells the batcher of each.
    caf::reacts_to<start_atom, batcher_actor>,
    // Opens the slot as the next batch and deals its rows, as soon as iterators know them.
    caf::reacts_to<deal_atom, slot_ptr>,
    // Workers have probed the items of this slot.
    caf::reacts_to<probe_atom, slot_ptr>,
    // Iterators can run: a record has arrived, or others have had their turn.
    caf::reacts_to<run_atom>,
    // Work left over from epochs before this one is not needed.
    caf::reacts_to<epoch_atom, std::uint64_t>,
    // The job starts over, as this run of it.
    caf::reacts_to<rewind_atom, std::uint64_t>,
    // This worker is gone: replace it, unless it was retired, and name its heir to the batcher.
    caf::reacts_to<lost_atom, std::uint32_t>,
    // Spawns or retires workers until there are this many.
    caf::reacts_to<resize_atom, std::uint64_t>>;

/// Encodes and stores snapshots, one at a time, away from the data.
using checkpoint_actor = caf::typed_actor<
    // Writes one part, and answers how it went.
    caf::replies_to<save_request>::with<save_report>>;

} // namespace leat
