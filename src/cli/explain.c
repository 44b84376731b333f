// kiln explain K####: the page of one diagnostic code, which is embedded in the program.
#include <ctype.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/embed.h"
#include "cli/cli.h"

static int list_codes(void)
{
    for (int code = DIAG_NONE + 1; code < DIAG_CODE_COUNT; code++)
        printf("%s  %s\n", diag_code_name((diag_code)code), diag_code_title((diag_code)code));
    return EXIT_FINE;
}

int cli_explain(int argc, char **argv)
{
    cli_args args = CLI_ARGS("explain", argc, argv);
    const char *code = NULL;
    bool lists = false;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        lists |= option == OPT_list;
        if (option != CLI_WORD && option != OPT_list)
            return EXIT_USAGE;
        if (option == CLI_WORD && code)
            return cli_usage("explain", "'%s' is one word too many", args.value);
        if (option == CLI_WORD)
            code = args.value;
    }
    if (lists && code)
        return cli_usage("explain", "--list shows all codes: '%s' is one word too many", code);
    if (lists)
        return list_codes();
    if (!code)
        return cli_usage("explain", "which code? kiln explain --list shows all of them");
    char name[16];
    snprintf(name, sizeof name, "%s%s", isdigit((unsigned char)code[0]) ? "K" : "", code);
    name[0] = (char)toupper((unsigned char)name[0]);
    if (diag_code_find(name) == DIAG_NONE)
        return cli_usage("explain", "there is no code '%s'; kiln explain --list shows all of them",
                         code);
    char page[64];
    snprintf(page, sizeof page, "errors/%s.md", name);
    size_t len;
    const char *bytes = embed_find(page, &len);
    if (!bytes) {
        printf("%s: %s\n", name, diag_code_title(diag_code_find(name)));
        return EXIT_FINE;
    }
    fwrite(bytes, 1, len, stdout);
    return EXIT_FINE;
}
