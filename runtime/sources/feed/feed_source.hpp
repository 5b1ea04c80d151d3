#pragma once

#include <leat/pipeline.hpp>
#include <leat/source_facts.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

/// Throws `errc::invalid_argument` for a name that users may not give to a feed: an empty one, one
/// that is too long, and those of rank 0's own sources.
void check_feed_name(const std::string& name, const std::string& option);

/// The name under which rank 0's process serves one of its sources to all ranks. `number`: among
/// those of the pipeline that exist once, in data order; `title`: how users know the source.
std::string name_of_own_source(std::uint64_t number, std::string_view title);
bool is_own_source(std::string_view name) noexcept;

/// Of the records of a feed: its digest is over the name, as that of all that exists once.
source_facts facts_of_feed(const std::string& name);

/// It reads a feed.
bool has_feeds(const pipeline& x);

} // namespace leat
