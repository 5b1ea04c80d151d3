#pragma once

/// Marks what the shared library exports. Everything else stays hidden, so that a trainer's own
/// copies of our dependencies cannot clash with ours.
#define LEAT_API __attribute__((visibility("default")))
