#include "apps/deadman/load_config.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "deadman/config/option.h"

namespace deadman::cli {
namespace {

void take_variable(const std::string& name, std::map<std::string, std::string>& environment) {
    if (name.empty())
        return;
    if (const char* value = std::getenv(name.c_str()); value != nullptr)
        environment[name] = value;
}

} // namespace

void add_config_flags(CLI::App& verb, ConfigFlags& flags,
                      const std::vector<std::string>& sections) {
    verb.add_option("--config", flags.file,
                    "Configuration file (default: ./deadman.toml, else /etc/deadman/deadman.toml)")
        ->type_name("FILE")
        ->envname("DEADMAN_CONFIG");
    for (const config::Option& option : config::options()) {
        const bool wanted =
            std::find(sections.begin(), sections.end(), option.section) != sections.end();
        if (!wanted || option.flag.empty())
            continue;
        const std::string flag(option.flag);
        verb.add_option_function<std::string>(
                "--" + flag, [&flags, flag](const std::string& text) { flags.flags[flag] = text; },
                std::string(option.sentence))
            ->type_name(option.type == config::OptionType::boolean ? "BOOL" : "VALUE")
            ->default_str(std::string(option.fallback));
    }
}

base::Result<config::Config> load_config(const ConfigFlags& flags) {
    config::Sources sources;
    sources.flags = flags.flags;
    for (const config::Option& option : config::options())
        take_variable(config::variable_of(option), sources.environment);
    for (const char* name : {"STATE_DIRECTORY", "XDG_DATA_HOME", "HOME", "LOCALAPPDATA"})
        take_variable(name, sources.environment);
    DEADMAN_TRY(sources.file, config::read_file(flags.file));
    sources.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return config::resolve(sources);
}

} // namespace deadman::cli
