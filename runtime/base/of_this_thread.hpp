#pragma once

namespace leat {

/// The C library ends the process where it has no memory for the end of an object of a thread
/// ("failed to register TLS destructor"), and where it has none for the objects of a library that
/// was loaded late. Throws std::bad_alloc while there may be too little for that.
void check_room_for_first_use();

/// The T of the calling thread, made at its first call. Throws std::bad_alloc, and what the
/// constructor throws.
template <class T>
T& of_this_thread() {
  thread_local constinit bool has_room = false;
  if (!has_room) {
    check_room_for_first_use();
    has_room = true;
  }
  thread_local T x;
  return x;
}

} // namespace leat
