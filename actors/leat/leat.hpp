#pragma once

// All of leat's public interface.

#include <leat/bad_sample.hpp>
#include <leat/bare_loop.hpp>
#include <leat/batch.hpp>
#include <leat/cluster.hpp>
#include <leat/cluster_observer.hpp>
#include <leat/cluster_report.hpp>
#include <leat/error.hpp>
#include <leat/functions.hpp>
#include <leat/graph.hpp>
#include <leat/hash128.hpp>
#include <leat/image.hpp>
#include <leat/image_decoder.hpp>
#include <leat/job_coordinator.hpp>
#include <leat/loader.hpp>
#include <leat/once.hpp>
#include <leat/order.hpp>
#include <leat/own_loader.hpp>
#include <leat/padded.hpp>
#include <leat/patience.hpp>
#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/row_index.hpp>
#include <leat/run_log.hpp>
#include <leat/run_worker.hpp>
#include <leat/runtime.hpp>
#include <leat/sample.hpp>
#include <leat/snapshot.hpp>
#include <leat/source.hpp>
#include <leat/sources.hpp>
#include <leat/stored_source.hpp>
#include <leat/streams.hpp>
#include <leat/tables.hpp>
#include <leat/tensor.hpp>
#include <leat/trace.hpp>
