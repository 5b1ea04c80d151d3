#include "runtime/sources/live/record_store.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <string>

namespace leat {

void throw_no_record(const record_store& store, std::uint64_t number, const std::string& file) {
  throw_file_error(errc::not_found, store.is_journal() ? "journal" : "once source", file,
                   "record " + std::to_string(number),
                   "one from " + std::to_string(store.first()) + " to before "
                       + std::to_string(store.next()) + ": earlier ones were released");
}

} // namespace leat
