#include "runtime/sources/live/record_store.hpp"

#include <leat/error.hpp>

#include <string>

namespace leat {

void throw_no_record(const record_store& store, std::uint64_t number, const std::string& file) {
  throw error(errc::not_found,
              {.stage = store.is_journal() ? "journal" : "once source",
               .file = file,
               .got = "record " + std::to_string(number),
               .needed = "one from " + std::to_string(store.first()) + " to before "
                         + std::to_string(store.next()) + ": earlier ones were released"});
}

} // namespace leat
