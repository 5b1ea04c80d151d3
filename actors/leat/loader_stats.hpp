#pragma once

#include <leat/bad_sample.hpp>
#include <leat/helpers.hpp>
#include <leat/mix_counts.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

struct worker_stats {
  std::size_t worker = 0;
  /// Rows dealt to it by name (round_robin, by_lane) or claimed by it (on_demand).
  std::uint64_t rows_dealt = 0;
  std::uint64_t rows_done = 0;
  /// Time in reading, decoding and user functions.
  std::chrono::nanoseconds busy{0};
  std::uint64_t bytes_read = 0;
};

/// Where the time of making rows goes.
struct stage_stats {
  enum class kind : std::uint8_t {
    /// A source: finding and reading a record.
    reading,
    /// A map of leat's that makes images: decoding, cropping, resizing.
    decoding,
    /// Any other function of the pipeline.
    function,
    /// Outside the stages: rows are written to the batch and hashed.
    writing,
  };
  /// As the pipeline names it: "map tokenize".
  std::string name;
  kind what = kind::function;
  /// Sum over all workers. Measured in every row that takes long; for short rows in some, which
  /// stand for the others.
  std::chrono::nanoseconds time{0};
};

/// How long something took, in the cases that were counted.
struct duration_stats {
  std::uint64_t count = 0;
  std::chrono::nanoseconds sum{0};
  /// Times that half of them, and 99 of 100, do not exceed, rounded up to a power of 2 of
  /// nanoseconds.
  std::chrono::nanoseconds median{0};
  std::chrono::nanoseconds worst_percent{0};
};

/// Where the batches' memory is.
struct slot_stats {
  std::uint64_t free = 0;
  /// Workers make its rows, or it waits for them.
  std::uint64_t making = 0;
  /// Finished, waiting for next().
  std::uint64_t ready = 0;
  /// Held by the caller.
  std::uint64_t leased = 0;
};

/// What the samples that `pack` made consist of. Samples that workers make again, or ahead and that
/// are never handed over, count like all others.
struct pack_stats {
  std::uint64_t elements = 0;
  /// How many of them fill samples up.
  std::uint64_t padding = 0;
};

/// How images were decoded on the loader's device.
struct decoder_stats {
  /// As loader_options::decoder names it: "device" or "nvjpeg".
  std::string by = "device";
  /// Images, in so many groups, of which so many bytes were copied there.
  std::uint64_t images = 0;
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;
  /// What workers did for that: before the device began, and waiting for it.
  std::chrono::nanoseconds prepared{0};
  std::chrono::nanoseconds waited{0};
  /// Images that the processors made: why, and how many.
  std::vector<std::pair<std::string, std::uint64_t>> on_cpu = {};
};

/// What was copied to the loader's device.
struct device_stats {
  std::uint64_t bytes = 0;
  std::uint64_t batches = 0;
  /// Batches that were handed over before their copies were done: the trainer's streams waited.
  std::uint64_t waits = 0;
  /// Batches are copied from pinned memory.
  bool is_pinned = false;
  /// Empty where no image is decoded there.
  std::optional<decoder_stats> decoder = {};
};

/// What this process has asked servers for since it began. It is one for all loaders and sources of
/// a process: each loader's statistics have all of it.
struct remote_stats {
  /// Bytes of bodies that were of use.
  std::uint64_t bytes_received = 0;
  std::uint64_t requests = 0;
  /// Requests that are in flight now.
  std::uint64_t in_flight = 0;
  /// How often something was asked for again, after a failure.
  std::uint64_t retries = 0;
  /// Slow requests that were sent a second time, and those of the second ones that were faster.
  std::uint64_t hedges = 0;
  std::uint64_t hedges_won = 0;
  /// Answers that refused a request since there are too many: 503, 429.
  std::uint64_t throttled = 0;
  /// Reads that a cache on this machine's disk answered in place of a server.
  std::uint64_t cache_hits = 0;
  // Sums over all that did so, up to now.
  /// Time that threads which make rows, or unpack files for them, waited for bytes.
  std::chrono::nanoseconds waited{0};
  /// How often reading ahead had to stop since it had `bytes_in_flight` already, and for how long.
  std::uint64_t budget_waits = 0;
  std::chrono::nanoseconds without_budget{0};
  /// Time in which there was more to ask a server for than it may be asked at a time.
  std::chrono::nanoseconds queued{0};
  /// How long requests took that were answered, and what servers took of that before they began to
  /// answer, without the way there and back.
  std::chrono::nanoseconds requesting{0};
  std::chrono::nanoseconds answering{0};
};

/// A feed that the pipeline reads, `feed(name)`, as this rank has it. Counts and times are of this
/// loader since it was constructed, but for those that the feed's process states.
struct feed_stats {
  std::string name = {};
  /// "host:port" of the process that serves it, as this rank sees it; empty: nobody does now.
  std::string at = {};
  bool has_journal = false;
  /// The source has ended: `records_read` is all there are.
  bool has_ended = false;
  /// Records that its source has given, since it first began.
  std::uint64_t records_read = 0;
  /// This rank's iterators have come to the records before this number, and have so many to come
  /// to that the source has given.
  std::uint64_t reached = 0;
  std::uint64_t lag = 0;
  /// The oldest record that this rank may still ask for, here or after a restore: the feed keeps
  /// all from there on.
  std::uint64_t needed_from = 0;
  /// Records of this rank's lanes that its iterators have had.
  std::uint64_t records_taken = 0;
  /// Records that came to this rank, and bytes of their contents. Those that were dropped to make
  /// room, and needed again, count again.
  std::uint64_t records_received = 0;
  std::uint64_t bytes_received = 0;
  /// Bytes that rank and feed have sent each other, without what TLS and TCP add.
  std::uint64_t wire_bytes = 0;
  /// Time in which iterators had come to records that the source had not given.
  std::chrono::nanoseconds starved{0};
  /// Time in which some thread waited for a record that the source had given; and summed up over
  /// all threads.
  std::chrono::nanoseconds fetching{0};
  std::chrono::nanoseconds waited{0};
  /// What processors of this rank spent in the threads of the feed's connections.
  std::chrono::nanoseconds processor{0};
  // As the feed's process says, about once a second: what it has sent to all ranks since it began,
  // and what its processors spent on reading the source and on serving.
  std::uint64_t records_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::chrono::nanoseconds reading{0};
  std::chrono::nanoseconds sending{0};
};

struct loader_stats {
  /// One for each worker number: what all workers with that number have done, including those that
  /// died or were removed.
  std::vector<worker_stats> workers;
  /// In data order; last, what is done outside the stages.
  std::vector<stage_stats> stages;
  /// Batches and valid rows handed over by this loader object.
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes_read = 0;
  pack_stats packed = {};
  /// What the inputs of mixes gave since the job began, as far as this rank knows it; mixes in data
  /// order.
  std::vector<mix_counts> mixes = {};
  /// Time that next() waited for workers; 0 without workers, as it then makes the batches itself.
  std::chrono::nanoseconds waited{0};
  /// The single waits, for batches that were not there at once.
  duration_stats waits = {};
  /// How long finished batches lay ready before they were asked for.
  duration_stats ready_for = {};
  /// Workers that there should be now: as requested, or as found (`automatic`).
  std::uint64_t workers_now = 0;
  /// Of the time that workers, or without any the trainer, were busy, what iterators took.
  std::chrono::nanoseconds iterating{0};
  slot_stats slots = {};
  /// Empty without a device.
  std::optional<device_stats> device = {};
  /// Empty without `workers_at`.
  std::optional<helper_stats> helped = {};
  /// One for each feed of the pipeline, in data order.
  std::vector<feed_stats> feeds = {};
  /// Empty as long as this process has asked no server for data.
  std::optional<remote_stats> remote = {};
  /// Bad samples since the job began, as far as this rank knows them.
  bad_counts bad{};
  std::uint64_t workers_replaced = 0;
  /// Encoded bytes of the last snapshot of this rank that was taken or saved here; 0 if there was
  /// none.
  std::uint64_t snapshot_bytes = 0;
};

} // namespace leat
