#include "runtime/sources/reread_notice.hpp"

#include <leat/notice.hpp>

#include <string>

namespace leat {

void notice_reread(const stream_opener& opener, std::size_t file, std::uint64_t offset,
                   restart_point from) {
  if (opener.files().packed(file) == packing::none || offset <= from.unpacked)
    return;
  notice("decompresses " + std::to_string(offset - from.unpacked) + " bytes of "
         + opener.files().path(file) + " again, to resume at byte " + std::to_string(offset));
}

} // namespace leat
