#pragma once
// deadman job ...: a file for each of its verbs.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "deadman/base/result.h"
#include "deadman/domain/ids.h"

namespace deadman {

void add_job_enqueue(CLI::App& job, int& exit_code);
void add_job_list(CLI::App& job, int& exit_code);
void add_job_show(CLI::App& job, int& exit_code);
void add_job_wait(CLI::App& job, int& exit_code);
void add_job_changes(CLI::App& job, int& exit_code); // cancel, retry, delete

/// Decimal, from 1.
base::Result<domain::JobId> parse_job_id(const std::string& text);
base::Result<std::vector<domain::JobId>> parse_job_ids(const std::vector<std::string>& texts);

} // namespace deadman
