#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <type_traits>

namespace leat {

/// Appends the id of the item that a sample is made from: a small function that lies in the sample
/// itself, so that nothing is allocated for an id that is never asked for.
class id_writer {
public:
  id_writer() = default;

  /// What `append` captured must outlive the sample's row.
  template <class Append>
  explicit id_writer(const Append& append) noexcept
      : call_([](const std::byte* from, std::string& to) {
          (*std::launder(reinterpret_cast<const Append*>(from)))(to);
        }) {
    static_assert(std::is_trivially_copyable_v<Append> && sizeof(Append) <= sizeof(function_)
                  && alignof(Append) <= alignof(std::max_align_t));
    new (&function_) Append(append);
  }

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
