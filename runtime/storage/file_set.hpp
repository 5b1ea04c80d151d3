#pragma once

#include "runtime/storage/local_store.hpp"
#include "runtime/storage/passed_over.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// All texts that a pattern with braces stands for, in order: "{08..10}" counts up or down, keeping
/// leading zeros; "{a,b}" lists; several and nested ones combine, the last varying fastest. Other
/// braces stay as they are, as in bash. Throws `errc::invalid_argument` above 10 million.
std::vector<std::string> expand_braces(std::string_view pattern);

/// The files of a source.
struct file_set {
  /// Absolute and free of "." and "..", or full names of other stores, in the order given.
  std::vector<std::string> paths;
  /// Each file's path relative to the longest common directory; for a single file its basename.
  /// Unique, and the same on every machine.
  std::vector<std::string> names;
  /// Paths that patterns match and that are not files.
  passed_over others = {};
  /// Where they lie.
  const object_store* store = &local_store();
};

enum class file_kinds : std::uint8_t {
  plain,
  /// Also pipes and devices, if a pattern names one without "*", "?" and "[...]".
  with_pipes,
};

/// The files that patterns stand for: braces are expanded, then "*", "?" and "[...]" in each result
/// match plain files, sorted bytewise; indexes of tar shards ("*.leat-index", "*.leat-manifest")
/// never match, and
/// anything else that matches is counted in `others`. Throws `errc::not_found` with the pattern
/// that matches no file, and `errc::invalid_argument` if there is no pattern, if a file is named
/// twice, if files lie in several stores, and for a path that is not a file, saying what it is.
/// Files of stores that are not near are not looked for; `in`: the stores. The errors have this
/// `stage`.
file_set find_files(const std::vector<std::string>& patterns, const std::string& stage,
                    file_kinds kinds = file_kinds::plain, const store_set& in = *process_stores());

} // namespace leat
