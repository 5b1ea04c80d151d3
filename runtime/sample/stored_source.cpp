#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <leat/stored_source.hpp>

#include <utility>

namespace leat {

stored_source::stored_source(std::vector<std::string> files)
    : stored_source(open_named(std::move(files), "indexed")) {}

stored_source::stored_source(std::shared_ptr<stored_objects> objects)
    : objects_(std::move(objects)) {}

stored_source::~stored_source() = default;

std::span<std::byte> stored_source::make_room(std::uint64_t, std::size_t size, sample& into) const {
  return into.scratch(size);
}

void stored_source::read(std::uint64_t record, sample& into) const {
  auto& [extents, parts] = source_access::buffers(into);
  extents.clear();
  parts.clear();
  locate(record, extents);
  std::uint64_t size = 0;
  for (const auto& x : extents)
    size += x.size;
  const auto bytes = make_room(record, static_cast<std::size_t>(size), into);
  auto free = bytes;
  for (const auto& x : extents) {
    const auto n = static_cast<std::size_t>(x.size);
    parts.push_back({x.file, x.offset, free.first(n)});
    free = free.subspan(n);
  }
  read_now(*objects_, parts, sample_access::stop_of(into));
  into.count_read(size);
  decode(record, bytes, into);
}

} // namespace leat
