// Runs the `leat` command many times, each in a forked child, without executing a program for each:
// a case of random_pipelines.py takes a few milliseconds, most of which would be the start.
//
// A request is a line on standard input, an object of `arguments` (without the command's name), and
// the files `stdin`, `stdout` and `stderr`. The answers are two lines: `{"pid": P}` at once, so
// that the client may kill the child, and `{"status": S}` at its end, -N if signal N ended it. The
// server has no threads of its own, so that a fork is a complete copy.

#include "tools/leat/command_line.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

void redirect(int descriptor, const std::string& file, int flags) {
  const int opened = open(file.c_str(), flags, 0644);
  if (opened < 0 || dup2(opened, descriptor) < 0)
    give_up(file.c_str());
  close(opened);
}

[[noreturn]] void run_command(const json& request) {
  redirect(STDIN_FILENO, request.at("stdin"), O_RDONLY);
  redirect(STDOUT_FILENO, request.at("stdout"), O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, request.at("stderr"), O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<std::string> words{"leat"};
  for (const auto& x : request.at("arguments"))
    words.push_back(x);
  std::vector<char*> arguments;
  for (auto& x : words)
    arguments.push_back(x.data());
  arguments.push_back(nullptr);
  std::exit(leat::command::run_command_line(static_cast<int>(words.size()), arguments.data()));
}

void answer(const json& x) {
  std::cout << x.dump() << std::endl;
}

void serve(const json& request) {
  const auto child = fork();
  if (child < 0)
    give_up("fork");
  if (child == 0)
    run_command(request);
  answer({{"pid", child}});
  int status = 0;
  if (waitpid(child, &status, 0) < 0)
    give_up("waitpid");
  answer({{"status", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)}});
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1) // a job's child process, which runs the program that the job is in
    return leat::command::run_command_line(argc, argv);
  for (std::string line; std::getline(std::cin, line);)
    serve(json::parse(line));
}
