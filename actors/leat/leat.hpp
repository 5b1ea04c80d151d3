#pragma once

// All of leat's public interface.

#include <leat/bad_sample.hpp>
#include <leat/bare_loop.hpp>
#include <leat/batch.hpp>
#include <leat/error.hpp>
#include <leat/functions.hpp>
#include <leat/hash128.hpp>
#include <leat/image.hpp>
#include <leat/image_decoder.hpp>
#include <leat/loader.hpp>
#include <leat/once.hpp>
#include <leat/own_loader.hpp>
#include <leat/pipeline.hpp>
#include <leat/run_log.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>
#include <leat/sources.hpp>
#include <leat/stored_source.hpp>
#include <leat/streams.hpp>
#include <leat/tensor.hpp>
#include <leat/trace.hpp>
