// kiln completion: what makes bash, zsh or fish complete verbs, options, their values and files,
// written from verbs.def and options.def.
#include <ctype.h>
#include <stdlib.h>

#include "cli/cli.h"

static const char devices[] = "interp cpu cuda cuda:0 opencl opencl:0";

typedef enum value_kind { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_FOLDER, VALUE_ANY } value_kind;

// What can follow the option; `words` becomes the list of VALUE_WORDS, with spaces between them.
static value_kind value_of(const option_row *row, char *words, size_t room)
{
    *words = 0;
    if (!row->argument)
        return VALUE_NONE;
    if (!strcmp(row->argument, "FILE"))
        return VALUE_FILE;
    if (!strcmp(row->argument, "FOLDER"))
        return VALUE_FOLDER;
    if (!strcmp(row->argument, "DEVICE")) {
        snprintf(words, room, "%s", devices);
        return VALUE_WORDS;
    }
    for (const char *at = row->argument; *at; at++)
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && !strchr("|[]", *at))
            return VALUE_ANY;
    for (const char *at = row->argument; *at && room > 1; at++)
        if (*at != '[' && *at != ']') {
            *words++ = *at == '|' ? ' ' : *at;
            room--;
        }
    *words = 0;
    return VALUE_WORDS;
}

// A form that is a word to type, such as `list` of `kiln cache`.
static bool is_plain_word(const option_row *row)
{
    if (row->id != CLI_WORD)
        return false;
    for (const char *at = row->long_name; *at; at++)
        if (!islower((unsigned char)*at))
            return !strncmp(at, " FILE", 5);
    return true;
}

static bool has_files(int verb)
{
    for (size_t i = 0; i < cli_option_count; i++)
        if (cli_options[i].id == CLI_WORD && (cli_options[i].verbs >> verb & 1) &&
            strstr(cli_options[i].long_name, "FILE"))
            return true;
    return false;
}

// What can stand for a plain word of the verb: the words of its table, and for help the verbs.
static void print_words(int verb)
{
    for (size_t i = 0; i < cli_option_count; i++)
        if ((cli_options[i].verbs >> verb & 1) && is_plain_word(&cli_options[i]))
            printf(" %.*s", (int)strcspn(cli_options[i].long_name, " "), cli_options[i].long_name);
    for (int i = 0; i < VERB_kiln && (verb == VERB_help || verb == VERB_kiln); i++)
        printf(" %s", cli_verbs[i].name);
}

// --- bash

static void bash_options(int verb)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const option_row *row = &cli_options[i];
        if (row->id == CLI_WORD || !(row->verbs >> verb & 1))
            continue;
        if (row->long_name)
            printf(" --%s", row->long_name);
        else if (row->argument && *row->argument == '[')
            printf(" -%c0", row->short_name);
        else
            printf(" -%c", row->short_name);
    }
}

static void bash_values(int verb)
{
    char words[256];
    for (size_t i = 0; i < cli_option_count; i++) {
        const option_row *row = &cli_options[i];
        value_kind kind = value_of(row, words, sizeof words);
        if (row->id == CLI_WORD || !(row->verbs >> verb & 1) || kind == VALUE_NONE ||
            *row->argument == '[')
            continue;
        if (row->long_name)
            printf("    %s:--%s) ", cli_verbs[verb].name, row->long_name);
        else
            printf("    %s:-%c) ", cli_verbs[verb].name, row->short_name);
        if (kind == VALUE_WORDS)
            printf("COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", words);
        else if (kind == VALUE_FILE)
            printf("compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
        else if (kind == VALUE_FOLDER)
            printf("compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n");
        else
            printf("return ;;\n");
    }
}

static void print_bash(void)
{
    printf("# Made by kiln completion bash from the tables of kiln %s.\n"
           "_kiln() {\n"
           "    local word=$2 before=$3 verb=${COMP_WORDS[1]} options= words= files=\n"
           "    [ \"$COMP_CWORD\" = 1 ] && verb=\n"
           "    case $verb:$before in\n",
           kiln_version());
    for (int verb = 0; verb < VERB_kiln; verb++)
        bash_values(verb);
    printf("    esac\n    case $verb in\n    '') words='");
    print_words(VERB_kiln);
    printf("' options='");
    bash_options(VERB_kiln);
    printf("' ;;\n");
    for (int verb = 0; verb < VERB_kiln; verb++) {
        printf("    %s) options='", cli_verbs[verb].name);
        bash_options(verb);
        printf("' words='");
        print_words(verb);
        printf("'%s ;;\n", has_files(verb) ? " files=1" : "");
    }
    printf("    esac\n"
           "    case $word in\n"
           "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
           "    *)  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "        [ -z \"$files\" ] || { compopt -o filenames; COMPREPLY+=($(compgen -f -- "
           "\"$word\")); } ;;\n"
           "    esac\n"
           "}\n"
           "complete -F _kiln kiln\n");
}

// --- zsh

// Text within '[…]' of _arguments, which stands in single quotes.
static void zsh_help(const char *help)
{
    for (; *help; help++) {
        if (strchr("[]:\\", *help))
            printf("\\%c", *help);
        else if (*help == '\'')
            printf("'\\''");
        else
            putchar(*help);
    }
}

static void zsh_option(const option_row *row)
{
    char words[256];
    value_kind kind = value_of(row, words, sizeof words);
    bool is_optional = row->argument && *row->argument == '[';
    if (row->long_name)
        printf("            '*--%s%s[", row->long_name, kind == VALUE_NONE ? "" : "=");
    else
        printf("            '*-%c%s[", row->short_name,
               kind == VALUE_NONE ? ""
               : is_optional      ? "-"
                                  : "+");
    zsh_help(row->help);
    putchar(']');
    if (kind != VALUE_NONE)
        printf(":%s:", kind == VALUE_WORDS ? "value" : row->argument[0] == 'F' ? "file" : "value");
    if (kind == VALUE_WORDS) {
        putchar('(');
        zsh_help(words);
        putchar(')');
    } else if (kind == VALUE_FILE) {
        printf("_files");
    } else if (kind == VALUE_FOLDER) {
        printf("_files -/");
    }
    printf("' \\\n");
}

static void print_zsh(void)
{
    printf("#compdef kiln\n"
           "# Made by kiln completion zsh from the tables of kiln %s.\n"
           "_kiln() {\n"
           "    if (( CURRENT == 2 )); then\n"
           "        local -a verbs=(\n",
           kiln_version());
    for (int verb = 0; verb < VERB_kiln; verb++) {
        printf("            '%s:", cli_verbs[verb].name);
        zsh_help(cli_verbs[verb].does);
        printf("'\n");
    }
    printf("        )\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    local verb=$words[2]\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $verb in\n");
    for (int verb = 0; verb < VERB_kiln; verb++) {
        printf("    %s)\n        _arguments \\\n", cli_verbs[verb].name);
        for (size_t i = 0; i < cli_option_count; i++)
            if (cli_options[i].id != CLI_WORD && (cli_options[i].verbs >> verb & 1))
                zsh_option(&cli_options[i]);
        if (has_files(verb) && verb != VERB_cache) {
            printf("            '*:file:_files' ;;\n");
        } else {
            printf("            '*:word:(");
            print_words(verb);
            printf(")' ;;\n");
        }
    }
    printf("    esac\n"
           "}\n"
           "if [ \"$funcstack[1]\" = _kiln ]; then\n"
           "    _kiln \"$@\"\n"
           "else\n"
           "    compdef _kiln kiln\n"
           "fi\n");
}

// --- fish

static void fish_help(const char *help)
{
    printf(" -d '");
    for (; *help; help++) {
        if (*help == '\'' || *help == '\\')
            putchar('\\');
        putchar(*help);
    }
    printf("'\n");
}

static void fish_option(int verb, const option_row *row)
{
    char words[256];
    value_kind kind = value_of(row, words, sizeof words);
    if (verb == VERB_kiln)
        printf("complete -c kiln -n __fish_use_subcommand");
    else
        printf("complete -c kiln -n '__fish_seen_subcommand_from %s'", cli_verbs[verb].name);
    if (row->long_name)
        printf(" -l %s", row->long_name);
    if (row->short_name)
        printf(" -s %c", row->short_name);
    if (kind == VALUE_WORDS)
        printf(" -x -a '%s'", words);
    else if (kind == VALUE_FILE)
        printf(" -r -F");
    else if (kind == VALUE_FOLDER)
        printf(" -x -a '(__fish_complete_directories)'");
    else if (kind == VALUE_ANY)
        printf(" -x");
    fish_help(row->help);
}

static void print_fish(void)
{
    printf("# Made by kiln completion fish from the tables of kiln %s.\n"
           "complete -c kiln -f\n",
           kiln_version());
    for (int verb = 0; verb < VERB_kiln; verb++) {
        printf("complete -c kiln -n __fish_use_subcommand -a %s", cli_verbs[verb].name);
        fish_help(cli_verbs[verb].does);
    }
    for (int verb = 0; verb <= VERB_kiln; verb++) {
        for (size_t i = 0; i < cli_option_count; i++)
            if (cli_options[i].id != CLI_WORD && (cli_options[i].verbs >> verb & 1))
                fish_option(verb, &cli_options[i]);
        if (verb == VERB_kiln)
            break;
        if (has_files(verb))
            printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -F\n",
                   cli_verbs[verb].name);
        printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -a '", cli_verbs[verb].name);
        print_words(verb);
        printf("'\n");
    }
}

int cli_completion(int argc, char **argv)
{
    cli_args args = CLI_ARGS("completion", argc, argv);
    const char *shell = NULL;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        if (option != CLI_WORD)
            return EXIT_USAGE;
        if (shell)
            return cli_usage("completion", "'%s' is one word too many", args.value);
        shell = args.value;
    }
    if (!shell)
        return cli_usage("completion", "for which shell?");
    if (!strcmp(shell, "bash"))
        print_bash();
    else if (!strcmp(shell, "zsh"))
        print_zsh();
    else if (!strcmp(shell, "fish"))
        print_fish();
    else
        return cli_usage("completion", "it is bash, zsh or fish, not '%s'", shell);
    return EXIT_FINE;
}
