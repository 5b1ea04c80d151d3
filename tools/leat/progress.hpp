#pragma once

#include "runtime/base/not_copied.hpp"

#include "tools/leat/training_job.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace leat::command {

/// "epoch 0  step 120/1562  1,234 images/s  waiting for data 12%, training 88%"; with tokens also
/// "5,678 tokens/s"
std::string progress_text(const training_progress& x, std::string_view unit);

/// "[#####.....]"
std::string progress_bar(double share, std::size_t width);

/// Shows progress on standard error: a bar that is redrawn on a terminal, otherwise a line at most
/// every 10 s.
class progress_display : not_copied {
public:
  /// `unit`: what is counted, such as "images". `more` returns further text for a line.
  explicit progress_display(std::string_view unit, std::function<std::string()> more = {});
  /// Leaves the last state of the bar on the terminal.
  ~progress_display();

  void update(const training_progress& x);

private:
  void draw(const training_progress& x) const;

  std::string unit_;
  std::function<std::string()> more_;
  bool terminal_;
  bool drawn_ = false;
  training_progress last_;
  std::chrono::nanoseconds shown_at_{0};
};

/// Shows on standard error the progress of library calls that take longer than a moment, such as
/// indexing. Lives as long as the process may open data.
class opening_display : not_copied {
public:
  opening_display();
  ~opening_display();
};

} // namespace leat::command
