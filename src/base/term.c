// Terminal questions, answered by the stream's descriptor and the environment.
#include "base/term.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/knobs.h"

bool term_is_tty(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

int term_width(FILE *stream)
{
    struct winsize size;
    if (!ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? width : 80;
}

bool term_has_colour(FILE *stream)
{
    const char *wish = knob_text(KNOB_COLOR);
    if (!strcmp(wish, "always"))
        return true;
    if (!strcmp(wish, "never"))
        return false;
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return term_is_tty(stream) && !(no_colour && *no_colour) && !(term && !strcmp(term, "dumb"));
}
