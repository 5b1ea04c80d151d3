#pragma once

// Every actor's protocol on one page: read this file to see the architecture.

#include "messages/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace leat {

/// Reads, decodes and augments: runs rows of slots, writing straight into these, and turns of
/// lanes.
using worker_actor = caf::typed_actor<
    // Runs the rows dealt by name, then claims rows until the slot has none left. If the last row
    // was among them, tells the batcher of a batch, and the dispatcher of all else.
    caf::reacts_to<chunk>,
    // From itself: no chunk came meanwhile, so it waits for rows that a device decodes.
    caf::reacts_to<settle_atom>,
    // Quits after the chunks that came before.
    caf::reacts_to<retire_atom>>;

/// Owns the slots of batches: counts them in order, closes them in order, and hands them to the
/// loader's door.
using batcher_actor = caf::typed_actor<
    // Begins a batch in a slot that no lease and no worker uses: a new one, or one whose lease
    // ended.
    caf::reacts_to<free_atom, slot_ptr>,
    // A batch is complete, or may be.
    caf::reacts_to<complete_atom>,
    // The dispatcher cannot continue, so no batch can.
    caf::reacts_to<fail_atom, error_ptr>>;

/// Owns the workers and their rows: says what the batches are, deals rows, probes and turns of
/// lanes, and deals again what a dead worker had.
using dispatcher_actor = caf::typed_actor<
    // Spawns the workers.
    caf::reacts_to<start_atom, batcher_actor>,
    // Opens the slot as the next batch and deals its rows, as soon as iterators know them.
    caf::reacts_to<deal_atom, slot_ptr>,
    // A probe is complete, or lanes have had their turns.
    caf::reacts_to<complete_atom>,
    // Rows that helpers are late with, or have lost: all workers get them, before other work.
    caf::reacts_to<chunk>,
    // A record of a source that exists once has arrived.
    caf::reacts_to<run_atom>,
    // Work left over from epochs before this one is not needed.
    caf::reacts_to<epoch_atom, std::uint64_t>,
    // The job starts over, as this run of it.
    caf::reacts_to<rewind_atom, std::uint64_t>,
    // Spawns or retires workers until there are this many.
    caf::reacts_to<resize_atom, std::uint64_t>>;

/// Encodes and stores snapshots, one at a time, away from the data.
using checkpoint_actor = caf::typed_actor<
    // Writes one part, and answers how it went.
    caf::replies_to<save_request>::with<save_report>>;

} // namespace leat
