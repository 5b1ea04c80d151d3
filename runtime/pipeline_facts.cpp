#include "runtime/pipeline_facts.hpp"

#include "runtime/order.hpp"

namespace leat {

pipeline_facts describe(const pipeline& x) {
  pipeline_facts facts;
  facts.source_kind = x.source().kind;
  facts.patterns = x.source().patterns;
  facts.source_parameters = x.source().parameters;
  facts.data = x.data().facts();
  facts.shuffle = x.order();
  for (const auto& stage : x.maps())
    facts.maps.emplace_back(stage.name, stage.parameters);
  facts.batch_rows = x.batch_rows();
  facts.lanes =
      lanes_of(x.batching(), x.batch_rows(), x.order(), x.data().records_per_file().size());
  facts.end = x.batching().end;
  facts.fields = x.batching().fields;
  return facts;
}

} // namespace leat
