// Text inside the strings of JSON on standard output.
#include "base/utf8.h"
#include "cli/cli.h"

// Bytes that are no UTF-8, of a path or of a kernel's own text, become U+FFFD: a reader of JSON
// refuses them.
void cli_put_json(const char *words)
{
    unsigned len;
    for (size_t left = strlen(words); left; words += len, left -= len) {
        uint32_t c = utf8_read(words, left, &len);
        if (c == '"' || c == '\\')
            printf("\\%c", (char)c);
        else if (c < ' ' || c == 127 || c == 0xfffd)
            printf("\\u%04x", (unsigned)c);
        else
            fwrite(words, 1, len, stdout);
    }
}
