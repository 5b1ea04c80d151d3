// `leat`: works with data sets, orders, jobs and snapshots from the command line.
// Run `leat --help`, or see docs/command.md.

#include "tools/leat/command_line.hpp"

int main(int argc, char** argv) {
  return leat::command::run_command_line(argc, argv);
}
