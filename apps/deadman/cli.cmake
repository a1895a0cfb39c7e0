# The verbs about jobs, queues, workers, stores and configuration.
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" -c safe.directory=* rev-parse --short=12 HEAD
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
    set(commit "unknown")
endif()

deadman_module(cli
    INCLUDE_ROOT "${PROJECT_SOURCE_DIR}"
    SOURCES
        bulk_enqueue.cc
        command_line.cc
        connect.cc
        http_backend.cc
        interruption.cc
        job_explain.cc
        job_line.cc
        load_config.cc
        local_time.cc
        output.cc
        progress_line.cc
        store_backend.cc
        verb_backup.cc
        verb_config.cc
        verb_doctor.cc
        verb_job.cc
        verb_job_changes.cc
        verb_job_enqueue.cc
        verb_job_list.cc
        verb_job_show.cc
        verb_job_wait.cc
        verb_migrate.cc
        verb_queue.cc
        verb_version.cc
        verb_worker.cc
        versions.cc
        worker_process.cc
    HEADERS
        backend.h
        bulk_enqueue.h
        command_line.h
        connect.h
        exit_codes.h
        http_backend.h
        interruption.h
        job_explain.h
        job_json.h
        job_line.h
        json_text.h
        load_config.h
        local_time.h
        option_values.h
        output.h
        progress_line.h
        store_backend.h
        verb.h
        verb_job.h
        versions.h
        worker_process.h
    DEPS
        chaos
        client
        config
        json
        store_sqlite
        worker_handlers
    PUBLIC_DEPS
        CLI11::CLI11
    PRIVATE_DEPS
        SQLite::SQLite3
        yyjson::yyjson
    TESTS
        bulk_enqueue_test.cc
        output_test.cc
)
target_compile_definitions(deadman_cli PRIVATE DEADMAN_VERSION="${PROJECT_VERSION}")
set_source_files_properties(versions.cc PROPERTIES COMPILE_DEFINITIONS DEADMAN_COMMIT="${commit}")

if(PkgConfig_FOUND)
    pkg_check_modules(LIBPQ IMPORTED_TARGET libpq)
    if(TARGET PkgConfig::LIBPQ)
        target_link_libraries(deadman_cli PRIVATE PkgConfig::LIBPQ)
        set_property(SOURCE versions.cc APPEND PROPERTY COMPILE_DEFINITIONS DEADMAN_WITH_LIBPQ=1)
    endif()
endif()
