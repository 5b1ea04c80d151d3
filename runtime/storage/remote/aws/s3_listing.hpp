#pragma once

#include "runtime/storage/object_store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// One page of the entries of a folder of S3.
struct s3_page {
  std::vector<listed_object> entries = {};
  /// Asks for the next page; empty: there is none.
  std::string next = {};
};

/// The parameters that ask for a page of the entries below `prefix`, which ends with "/" or is
/// empty, percent-encoded and in the order of their names.
std::string s3_page_query(const std::string& prefix, const std::string& continuation);

/// Reads the answer to ListObjectsV2. Throws `errc::io`, of `folder`, for anything else.
s3_page read_s3_page(const std::string& xml, const std::string& prefix, const std::string& folder);

} // namespace leat
