#include "runtime/base/xxh3.hpp"

#include <leat/source.hpp>

namespace leat {

source::~source() = default;

void source::append_id(std::uint64_t record, std::string& to) const {
  to += name();
  to += '/';
  to += std::to_string(record);
}

std::vector<std::uint64_t> source::records_per_file() const {
  return {size()};
}

source_facts source::facts() const {
  hash_stream hash;
  hash.add(name());
  hash.add(size());
  return {.files = 1, .records = size(), .bytes = 0, .digest = hash.digest128()};
}

} // namespace leat
