#pragma once
// Verbs: what `deadman` can do. A file each; main.cc lists them.

#include <CLI/CLI.hpp>

#include "apps/deadman/exit_codes.h"

namespace deadman {

/// Adds the verb's subcommand; when it was called, its callback leaves the exit code in
/// `exit_code`.
using AddVerb = void (*)(CLI::App& app, int& exit_code);

void add_chaos_verb(CLI::App& app, int& exit_code);
void add_chaos_worker_verb(CLI::App& app, int& exit_code);
void add_demo_verb(CLI::App& app, int& exit_code);

void add_backup_verb(CLI::App& app, int& exit_code);
void add_bench_verb(CLI::App& app, int& exit_code);
void add_bench_part_verb(CLI::App& app, int& exit_code);
void add_config_verb(CLI::App& app, int& exit_code);
void add_doctor_verb(CLI::App& app, int& exit_code);
void add_job_verb(CLI::App& app, int& exit_code);
void add_migrate_verb(CLI::App& app, int& exit_code);
void add_queue_verb(CLI::App& app, int& exit_code);
void add_serve_verb(CLI::App& app, int& exit_code); // where HTTP is built in
void add_version_verb(CLI::App& app, int& exit_code);
void add_worker_verb(CLI::App& app, int& exit_code);

} // namespace deadman
