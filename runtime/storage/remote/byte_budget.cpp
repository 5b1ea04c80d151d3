#include "runtime/storage/remote/byte_budget.hpp"

namespace leat {

byte_budget& process_read_ahead() noexcept {
  static byte_budget only{std::uint64_t{256} << 20};
  return only;
}

} // namespace leat
