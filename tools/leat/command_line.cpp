#include "tools/leat/command_line.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>
#include <leat/run_worker.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/progress.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

namespace leat::command {
namespace {

constexpr int failed = 1;
constexpr int bad_usage_status = 2;

/// Name of the subcommand that the user wrote, for texts.
std::string subcommand_of(const CLI::App& app, int argc, char** argv) {
  for (const auto* x : app.get_subcommands([](const CLI::App*) { return true; }))
    if (argc > 1 && x->get_name() == argv[1]) {
      const auto inner = subcommand_of(*x, argc - 1, argv + 1);
      return x->get_name() + (inner.empty() ? "" : " " + inner);
    }
  return "";
}

/// Whether the error is about the command line or a pipeline's text. Errors that name a file are
/// about data.
bool is_usage(const error& x) {
  return x.code() == errc::invalid_argument && x.details().file.empty();
}

int report(const std::string& subcommand, const char* text, int status) {
  // Allocates nothing: there may be no memory left.
  const auto* space = subcommand.empty() ? "" : " ";
  std::fprintf(stderr, "leat%s%s: %s\n", space, subcommand.c_str(), text);
  if (status == bad_usage_status)
    std::fprintf(stderr, "Try \"leat%s%s --help\".\n", space, subcommand.c_str());
  return status;
}

/// Opens /dev/null as those of the descriptors 0 to 2 that are closed, so that no file of the
/// program can become one of them and receive what is printed. As in the C library's protection of
/// setuid programs, reading from what was closed, and writing to it, still fails.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // open(2) returns the lowest free descriptor: this one.
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Raises this process's limit of descriptors to 65,536, or to the hard limit. A library must not
/// do that: it is the program's choice.
void raise_descriptor_limit() {
  constexpr rlim_t enough = 65'536;
  rlimit x{};
  if (::getrlimit(RLIMIT_NOFILE, &x) != 0 || x.rlim_cur >= std::min(x.rlim_max, enough))
    return;
  x.rlim_cur = std::min(x.rlim_max, enough);
  ::setrlimit(RLIMIT_NOFILE, &x);
}

} // namespace

int run_command_line(int argc, char** argv) try {
  run_worker(argc, argv);
  fill_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN); // at the size limit of files, the write fails instead
  raise_descriptor_limit();
  CLI::App app{"leat feeds training jobs: exact batches, killed and resumed at will.", "leat"};
  int status = 0;
  app.set_version_flag("--version", LEAT_VERSION);
  app.require_subcommand(1);
  add_make_data(app);
  add_index(app);
  add_ls(app);
  add_probe(app);
  add_tokens_command(app);
  add_tokenize_command(app);
  add_order(app);
  add_graph(app);
  add_run(app, status);
  add_replay(app);
  add_inspect(app);
  add_verify(app, status);
  add_bench(app);
  add_coordinator(app, status);
  add_cluster(app);
  add_worker(app, status);
  add_feed(app, status);
  add_certs(app);
  refuse_empty_texts(app);
  refuse_addresses(app);
  auto subcommand = subcommand_of(app, argc, argv);
  opening_display openings;
  try {
    app.parse(argc, argv);
    flush_output();
    return status;
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0)
      return app.exit(problem);
    bool unknown = subcommand.empty() && argc > 1 && argv[1][0] != '-';
    const auto text =
        unknown ? "no subcommand \"" + std::string{argv[1]} + "\"" : std::string{problem.what()};
    return report(subcommand, text.c_str(), bad_usage_status);
  } catch (const error& problem) {
    return report(subcommand, problem.what(), is_usage(problem) ? bad_usage_status : failed);
  } catch (const std::filesystem::filesystem_error& problem) {
    const auto text = "file " + problem.path1().string() + ", got " + problem.code().message();
    return report(subcommand, text.c_str(), failed);
  } catch (...) {
    const auto problem = error_in_flight(errc::io, {});
    return report(subcommand, problem.what(), failed);
  }
} catch (...) { // before subcommands existed, or no memory for the text
  return report({}, error_in_flight(errc::io, {}).what(), failed);
}

} // namespace leat::command
