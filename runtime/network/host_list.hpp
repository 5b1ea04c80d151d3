#pragma once

#include <string>
#include <string_view>

namespace leat {

/// The first host of Slurm's list: "node[01-03,7]-ib,other5" begins with "node01-ib". `from` stands
/// in errors: the variable that has the list. Throws `errc::invalid_argument` for a list that is
/// empty, cut short or nested anywhere, also after its first host.
std::string first_host(std::string_view list, const std::string& from);

} // namespace leat
