#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <vector>

namespace leat {

/// Lets this program be the child process of its own jobs, for maps with `map_options::isolate`. To
/// be called first in `main`, with its arguments: in a child it makes samples until its job ends,
/// and does not return; otherwise it returns at once.
///
/// `maps`: the functions of the program that may be isolated. They are registered, so that a child
/// finds them by their names, and so that texts of pipelines may name them; those that were
/// registered before count, too (`register_map`). leat's own maps may be isolated in any program:
/// where this function is not called, their children are those of the installed command `leat`.
///
///     int main(int argc, char** argv) {
///       leat::run_worker(argc, argv, {{.name = "parse@1", .make = [] { return parse; }}});
///
/// Throws as `register_map`, `errc::invalid_argument`.
LEAT_API void run_worker(int argc, char** argv, std::vector<map_stage> maps = {});

} // namespace leat
