#pragma once
// The configuration of this process: flags, environment, file, defaults.

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "deadman/base/result.h"
#include "deadman/config/config.h"

namespace deadman::cli {

struct ConfigFlags {
    std::string file;                         // --config
    std::map<std::string, std::string> flags; // by config::Option::flag, those given
};

/// --config, and the flags of these sections of the option table ("" is the top).
void add_config_flags(CLI::App& verb, ConfigFlags& flags, const std::vector<std::string>& sections);

base::Result<config::Config> load_config(const ConfigFlags& flags);

} // namespace deadman::cli
