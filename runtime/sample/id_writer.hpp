#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstddef>
#include <new>
#include <string>
#include <type_traits>

namespace leat {

/// Appends the id of the item that a sample is made from: a small function that lies in the sample
/// itself, so that nothing is allocated for an id that is never asked for.
class id_writer : not_copied {
public:
  /// Takes a function in place of the one before. What it captured must outlive the sample's row.
  template <class Append>
  void set(const Append& append) noexcept {
    static_assert(std::is_trivially_copyable_v<Append> && sizeof(Append) <= sizeof(function_)
                  && alignof(Append) <= alignof(std::max_align_t));
    new (&function_) Append(append); // only what was captured is written: this is done per row
    call_ = [](const std::byte* from, std::string& to) {
      (*std::launder(reinterpret_cast<const Append*>(from)))(to);
    };
  }
  void clear() noexcept { call_ = nullptr; }

  /// Appends nothing if there is no function.
  void operator()(std::string& to) const {
    if (call_)
      call_(function_, to);
  }

private:
  void (*call_)(const std::byte*, std::string&) = nullptr;
  alignas(std::max_align_t) std::byte function_[144];
};

} // namespace leat
