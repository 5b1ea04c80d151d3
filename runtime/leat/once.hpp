#pragma once

#include <leat/pipeline.hpp>

#include <functional>
#include <string>

namespace leat {

// Sources whose records exist once. Their order is the order in which records come. Jobs that
// save snapshots of them need a journal: `pipeline::journal`. In a job of several processes (a
// cluster's) that of rank 0 reads them, and serves all ranks: others neither read their standard
// input, nor call `next`, nor open a journal.

/// The lines of standard input (file descriptor 0), without their newlines; the last line needs
/// none. Ids "stdin/0", "stdin/1", ...; field "text". One source per process reads it at a time.
/// With a journal, bytes go from a pipe into it inside the kernel: none is lost on the way,
/// whenever the process is killed. From anything other than a pipe they are read, then written; a
/// file is better read with `lines`.
LEAT_API pipeline standard_input();

/// A generator, a queue, a socket of the program: `next` sets the fields of an empty sample and
/// returns true, or returns false at the end. It may block. One thread at a time calls it, which is
/// not one of the caller's, beginning with the first sample that is wanted; its exceptions come out
/// of the loader, and it is not called again. Destroying the loader waits for it. Ids are "NAME/0",
/// "NAME/1", ...: `name` without its version ("queue@1" is "queue"). A killed process loses at most
/// the one sample that `next` had made and the journal did not have yet.
LEAT_API pipeline once(std::string name, std::function<bool(sample&)> next);

/// Makes such a source known to `parse_pipeline`, as `once("queue@1")`. Parsed twice, it is two
/// sources that call the same function, each from a thread of its own.
LEAT_API void register_once(std::string name, std::function<bool(sample&)> next);

/// A source that exists once in another process, for all ranks of a job: `leat feed NAME`, or
/// `run_feed` in a program, reads it, and serves its records to ranks, which it finds by the job's
/// coordinator or at `loader_options::feeds_at`. Their order is that of `standard_input` in one
/// process; ids are "NAME/0", "NAME/1", ... Samples are those that the feed was given, or have the
/// field "text" where it reads lines. A name may be in one place of a pipeline.
LEAT_API pipeline feed(std::string name);

} // namespace leat
