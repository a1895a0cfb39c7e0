#include "apps/deadman/command_line.h"

#include <algorithm>
#include <format>

#include <CLI/CLI.hpp>

#include "apps/deadman/exit_codes.h"
#include "apps/deadman/output.h"

namespace deadman::cli {
namespace {

/// Slips between two words: letters too many, too few, wrong, or two of them swapped.
std::size_t slips(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
            current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + wrong});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = std::min(current[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, current);
    }
    return last[b.size()];
}

/// The verb that was being read when it went wrong.
const CLI::App& deepest(const CLI::App& app) {
    const CLI::App* verb = &app;
    for (auto parsed = verb->get_subcommands(); !parsed.empty(); parsed = verb->get_subcommands())
        verb = parsed.back();
    return *verb;
}

std::string full_name(const CLI::App& verb) {
    const CLI::App* parent = verb.get_parent();
    return parent == nullptr ? verb.get_name() : full_name(*parent) + " " + verb.get_name();
}

std::vector<std::string> verbs_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!verb->get_group().empty()) // the others are not for people
            names.push_back(verb->get_name());
    return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames())
            flags.push_back("--" + name);
    return flags;
}

std::string meant(std::string_view word, const std::vector<std::string>& names) {
    const std::string name = nearest(word, names);
    return name.empty() ? "" : std::format("; did you mean '{}'?", name);
}

/// The first word that nobody knew: `flag` or not.
std::string unknown_word(const CLI::App& app, bool flag) {
    for (const std::string& word : app.remaining(true))
        if (word.starts_with('-') == flag)
            return word.substr(0, word.find('='));
    return "";
}

std::string message_of(const CLI::App& app, const CLI::App& verb, const CLI::ParseError& error) {
    const std::vector<std::string> verbs = verbs_of(verb);
    if (const std::string word = unknown_word(app, false); !word.empty() && !verbs.empty())
        return std::format("`{}` has no verb '{}'{}", full_name(verb), word, meant(word, verbs));
    if (const std::string flag = unknown_word(app, true); !flag.empty())
        return std::format("`{}` has no flag '{}'{}", full_name(verb), flag,
                           meant(flag, flags_of(verb)));
    if (!verbs.empty())
        return std::format("`{}` needs a verb", full_name(verb));
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
    std::string best;
    std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const std::size_t count = slips(word, name);
        if (count < fewest) {
            fewest = count;
            best = name;
        }
    }
    return best;
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
        app.exit(error);
        return exit_ok;
    }
    const CLI::App& verb = deepest(app);
    return usage_error(verb, message_of(app, verb, error));
}

int usage_error(const CLI::App& verb, std::string_view message) {
    say(message);
    say(std::format("see `{} --help`", full_name(verb)));
    return exit_usage;
}

} // namespace deadman::cli
