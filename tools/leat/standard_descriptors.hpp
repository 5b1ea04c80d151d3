#pragma once

namespace leat::command {

/// Fills those of the descriptors 0 to 2 that are closed, so that no file of the program's own can
/// become one of them: what is printed would go into it. As the C library does for programs with
/// the rights of others: reading from what was closed, and writing to it, still fails.
void fill_standard_descriptors();

/// Raises how many descriptors this process may have to 65,536, or as far as it may. A library must
/// not: it is its program's choice.
void raise_descriptor_limit();

} // namespace leat::command
