#include "runtime/sources/open_stream.hpp"

#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"

#include <utility>

namespace leat {

std::shared_ptr<const stream_source> open_stream(file_format format, file_set files,
                                                 const json_types& types) {
  if (format == file_format::tar)
    return std::make_shared<const tar_stream_source>(std::move(files));
  const auto is_json = format == file_format::json_lines;
  return std::make_shared<const line_source>(is_json ? "json_lines" : "lines", std::move(files), 1,
                                             is_json ? json_object_lines(types) : text_lines());
}

} // namespace leat
