#include <leat/notice.hpp>

#include <cstdio>
#include <utility>

namespace leat {

namespace {

notice_handler& current() {
  static notice_handler handler = [](const std::string& text) {
    std::fprintf(stderr, "leat: %s\n", text.c_str());
  };
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
  if (current())
    current()(text);
}

} // namespace leat
