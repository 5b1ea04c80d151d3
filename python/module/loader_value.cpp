#include "runtime/base/error_in_flight.hpp"

#include <leat/notice.hpp>
#include <leat/pipeline_facts.hpp>

#include "python/module/loader.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace leat::python {

namespace {

/// All live loaders, to be ended before the interpreter. Guarded by the GIL.
std::set<loader_value*>& living() {
  static std::set<loader_value*> all;
  return all;
}

/// A pipeline's text, whose lines begin with spaces or a dot, on one line.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\n')
      line += text[i];
    else
      i = std::min(text.find_first_not_of(' ', i + 1), text.size()) - 1;
  return line;
}

} // namespace

loader_value::loader_value(nb::handle data, loader_options options, kept_objects kept_)
    : kept(std::move(kept_)), rank_(options.rank), world_size_(options.world_size),
      epochs_(options.epochs), steps_(options.steps) {
  check_place();
  is_place_new = true; // to be checked again where it is iterated, perhaps in another process
  const auto& of = nb::cast<pipeline_value&>(data);
  kept.add(of.kept);
  const pipeline value = of.value;
  if (options.workers == 0 && is_once(value))
    options.workers = 1; // so that a next() waiting for records can be interrupted
  without_gil([&] { job_.emplace(value, std::move(options)); });
  is_endless_ = end_of(value) == epoch_end::cycle;
  text_ = on_one_line(to_string(value));
  living().insert(this);
}

loader_value::~loader_value() {
  close_quietly();
  living().erase(this);
}

std::string loader_value::repr() const {
  if (!job_)
    return "<leat.Loader, closed>";
  return "<leat.Loader, rank " + std::to_string(rank_) + " of " + std::to_string(world_size_) + ": "
         + text_ + ">";
}

std::uint64_t loader_value::num_batches() {
  constexpr auto most = static_cast<std::uint64_t>(PY_SSIZE_T_MAX);
  auto all = UINT64_MAX; // for an endless epoch
  if (!is_endless_) {
    const auto each = call(&loader::batches_per_epoch);
    if (!each)
      throw nb::type_error("the epochs of this pipeline end where reading finds it, so that the "
                           "number of its batches is not known beforehand");
    if (*each == 0 || epochs_ <= most / *each)
      all = epochs_ * *each;
  }
  all = std::min(all, steps_);
  if (all > most)
    throw nb::type_error("this job has no end, and so no number of batches; needed: epochs= or "
                         "steps=");
  return all;
}

void loader_value::check_place() {
  nb::module_::import_("leat._refusals").attr("check_loader")(rank_, world_size_);
  is_place_new = false;
}

loader& loader_value::get() {
  if (!job_)
    throw_error(errc::shut_down, "loader", "a call after close()", "a new loader");
  return *job_;
}

void loader_value::end(std::chrono::seconds most) {
  if (!job_)
    return;
  if (*is_used_) { // another thread waits in next()
    (void)interrupt_user();
    return;
  }
  living().erase(this);
  auto ended = std::make_shared<loader>(std::move(*job_));
  job_.reset();
  if (process_ != getpid())
    return;
  // Functions that still run need their objects, so these are dropped after the loader has ended.
  auto functions = dropped_with_gil(std::make_unique<kept_objects>(kept));
  end_patiently(
      [ended = std::move(ended), functions = std::move(functions)]() mutable {
        ended.reset();
        functions.reset();
      },
      most);
}

void loader_value::close_quietly() noexcept {
  const nb::error_scope error_of_others;
  try {
    end(std::chrono::seconds{1});
  } catch (nb::python_error& problem) {
    raise_later(std::move(problem));
  } catch (const std::exception& problem) {
    notice(std::string{"loader: "} + problem.what());
  }
}

std::shared_ptr<std::atomic<bool>> loader_value::interrupt_user() {
  if (process_ != getpid())
    return nullptr;
  if (*is_used_ && job_)
    job_->interrupt();
  return is_used_;
}

loader_value::in_use::in_use(loader_value& of) : used_(of.is_used_) {
  if (used_->exchange(true))
    refuse_argument("loader", "a call while another thread is in one", "one thread at a time");
}

loader_value::in_use::~in_use() {
  *used_ = false;
  used_->notify_all();
}

std::uint64_t rank_among(const std::optional<std::uint64_t>& rank, std::uint64_t world_size) {
  if (!rank && world_size > 1)
    refuse_argument("loader", "world_size=" + std::to_string(world_size) + " without rank",
                    "rank=, the number of this process: 0 to " + std::to_string(world_size - 1));
  return rank.value_or(0);
}

void end_loaders() {
  const auto all = living();
  for (auto* x : all) {
    if (!living().contains(x)) // destroyed by another thread meanwhile
      continue;
    const auto used = x->interrupt_user();
    if (used) {
      // For example a daemon thread: the end of the interpreter would kill it in the middle of C++.
      const nb::gil_scoped_release released;
      used->wait(true);
    }
    if (!living().contains(x))
      continue;
    try {
      x->close();
    } catch (const nb::python_error&) { // a second ctrl-C, and no caller to raise it in
      end_process();
    }
  }
  {
    const nb::gil_scoped_release released;
    end_callers();
    wait_for_ends();
    leat::shutdown();
    has_abandoned() ? leave_abandoned_calls() : wait_for_kept_states();
  }
  if (has_abandoned())
    nb::set_leak_warnings(false); // the objects of abandoned functions are leaked on purpose
  end_python_calls();
  const nb::gil_scoped_release released;
  wait_for_last_calls();
}

} // namespace leat::python
