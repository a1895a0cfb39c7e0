# The verb `serve`: the whole system in one process.
deadman_module(serve
    INCLUDE_ROOT "${PROJECT_SOURCE_DIR}"
    ENABLED DEADMAN_HTTP
    SOURCES
        process_metrics.cc
        serve_process.cc
        verb_serve.cc
    HEADERS
        process_metrics.h
        serve_process.h
    DEPS
        cli
        http
        platform
        scheduler
        telemetry
        worker
        worker_handlers
)
if(DEADMAN_HTTP)
    target_compile_definitions(deadman_serve PRIVATE DEADMAN_VERSION="${PROJECT_VERSION}")
endif()
