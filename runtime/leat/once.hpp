#pragma once

#include <leat/pipeline.hpp>

#include <functional>
#include <string>

namespace leat {

// Sources whose records exist once. Their order is the order in which records come. Jobs that
// save snapshots of them need a journal: `pipeline::journal`.

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

} // namespace leat
