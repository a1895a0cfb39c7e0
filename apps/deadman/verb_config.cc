// deadman config show, sample, reference.

#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/verb.h"
#include "deadman/config/render.h"

namespace deadman {
namespace {

struct ShowArguments {
    cli::ConfigFlags config;
    cli::OutputFormat output = cli::OutputFormat::table;
    bool origin = false;
};

std::string key_of(const config::Shown& shown) {
    return shown.section.empty() ? shown.name : shown.section + "." + shown.name;
}

std::vector<std::string> items_of(const config::Config& config) {
    std::vector<std::string> items;
    for (const config::Shown& shown : config.shown)
        items.push_back(cli::JsonObject()
                            .text("key", key_of(shown))
                            .text("value", shown.text)
                            .text("origin", config::origin_name(shown.origin))
                            .text_or_null("where", shown.where)
                            .str());
    return items;
}

/// The values alone, as the file would say them.
std::string without_origin(const config::Config& config) {
    std::string text;
    std::string section;
    for (const config::Shown& shown : config.shown) {
        if (shown.section != section)
            text += "\n[" + shown.section + "]\n";
        section = shown.section;
        text += shown.name + " = " + shown.text + "\n";
    }
    return text;
}

base::Result<int> show(const ShowArguments& arguments) {
    DEADMAN_TRY(const config::Config config, cli::load_config(arguments.config));
    if (arguments.output != cli::OutputFormat::table)
        cli::print_items(items_of(config), arguments.output);
    else
        cli::print(cli::several_lines(arguments.origin ? config::render_origin(config)
                                                       : without_origin(config)));
    return exit_ok;
}

} // namespace

void add_config_verb(CLI::App& app, int& exit_code) {
    CLI::App* config = app.add_subcommand("config", "What is configured, and by whom");
    config->require_subcommand(1);
    CLI::App* verb = config->add_subcommand("show", "The settings that a process here would have");
    const auto arguments = std::make_shared<ShowArguments>();
    verb->add_flag("--origin", arguments->origin, "With whence each value comes");
    cli::add_config_flags(*verb, arguments->config, {"", "worker", "lease", "limits"});
    cli::add_output(*verb, arguments->output);
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(show(*arguments)); });
    config
        ->add_subcommand("sample", "A configuration file to start from, every setting in a comment")
        ->callback([&exit_code] {
            cli::print(config::render_sample());
            exit_code = cli::after_output(exit_ok);
        });
    config->add_subcommand("reference", "Every setting with its bounds and default, as Markdown")
        ->callback([&exit_code] {
            cli::print(config::render_reference());
            exit_code = cli::after_output(exit_ok);
        });
}

} // namespace deadman
