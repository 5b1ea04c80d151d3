#pragma once

namespace leat::command {

/// Opens /dev/null as those of the descriptors 0 to 2 that are closed, so that no file of the
/// program can become one of them and receive what is printed. As in the C library's protection of
/// setuid programs, reading from what was closed, and writing to it, still fails.
void fill_standard_descriptors();

/// Raises this process's limit of descriptors to 65,536, or to the hard limit. A library must not
/// do that: it is the program's choice.
void raise_descriptor_limit();

} // namespace leat::command
