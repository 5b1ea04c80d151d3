#include <leat/notice.hpp>

#include <cstdio>
#include <utility>

namespace leat {

namespace {

void print(const std::string& text) {
  std::fprintf(stderr, "leat: %s\n", text.c_str());
}

notice_handler& current() {
  static notice_handler handler = print;
  return handler;
}

progress_handler& current_progress() {
  static progress_handler handler;
  return handler;
}

} // namespace

void set_notice_handler(notice_handler handler) {
  current() = std::move(handler);
}

void set_progress_handler(progress_handler handler) {
  current_progress() = std::move(handler);
}

void report(const progress& now) {
  if (current_progress())
    current_progress()(now);
}

void notice(const std::string& text) {
  try {
    if (current())
      current()(text);
  } catch (...) { // callers cannot catch: our own threads, and destructors of loaders
    print(text);
  }
}

} // namespace leat
