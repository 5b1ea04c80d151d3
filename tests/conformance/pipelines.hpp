#pragma once

#include <string>
#include <vector>

namespace leat::test {

/// A pipeline that must pass every check of the suite: the text of everything below its batch, over
/// the data of data.hpp.
struct registered_pipeline {
  std::string name;
  std::string text;
};

/// Every source and every operator occurs in at least one of them.
const std::vector<registered_pipeline>& registered_pipelines();

} // namespace leat::test
