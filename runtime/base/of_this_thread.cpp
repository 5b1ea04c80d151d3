#include "runtime/base/of_this_thread.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace leat {

void check_room_for_first_use() {
  // Much more than is needed, as other threads may take some of it meanwhile, and less than what
  // the library would map apart and give back to the system.
  constexpr std::size_t room = std::size_t{64} << 10;
  void* const volatile x = std::malloc(room); // volatile: a compiler may leave out both calls
  if (!x)
    throw std::bad_alloc{};
  std::free(x);
}

} // namespace leat
