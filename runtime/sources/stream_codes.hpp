#pragma once

#include "runtime/sources/tar/tar_reader.hpp"
#include "runtime/storage/byte_stream.hpp"

#include <string>
#include <string_view>

namespace leat {

// The texts in records and places of streams. They go into snapshots: they take few bytes, and none
// in the usual case. Their readers throw `errc::bad_snapshot` for anything that leat did not write.

/// Empty for the beginning of a file.
std::string to_code(restart_point x);
restart_point restart_from(std::string_view code);

/// What it takes, besides the offset, to read a tar file from the middle.
struct tar_context {
  restart_point restart = {};
  tar_attributes global = {};

  friend bool operator==(const tar_context&, const tar_context&) = default;
};

/// Empty if there is nothing to say.
std::string to_code(const tar_context& x);
tar_context tar_context_from(std::string_view code);

/// A record's key: the key of docs/order.md, and its context.
struct tar_record_key {
  std::string key;
  tar_context context = {};
};

std::string to_code(const tar_record_key& x);
tar_record_key tar_record_key_from(std::string_view code);

} // namespace leat
