// Permissions of a context: what its kernels may reach outside of it. Nothing, unless kiln_allow
// says so. Start reading at kiln_allow.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/io/io.h"

static const char *const right_names[IO_RIGHT_COUNT] = {"read", "write", "net", "env", "stdin"};

static void free_grant(io_grant *g)
{
    if (g->folder >= 0)
        close(g->folder);
    free(g->text);
    free(g->path);
    free(g->asked);
    free(g->file);
    free(g);
}

// The folder of a path grant, and the file's name when it is one.
static kiln_status open_path(kiln *k, io_grant *g)
{
    struct stat about;
    char asked[2 * IO_PATH];
    g->path = realpath(g->text, NULL);
    if (!g->path || stat(g->path, &about)) {
        bool is_new = errno == ENOENT && g->right == IO_WRITE;
        return error_set(k, KILN_E_NOT_FOUND, K6005, "kiln_allow: '%s': %s%s", g->text,
                         strerror(errno), is_new ? "; for a new file, allow its folder" : "");
    }
    int failed = io_absolute(g->text, asked, sizeof asked);
    if (failed)
        return error_set(k, KILN_E_IO, K6005, "kiln_allow: '%s': %s", g->text, strerror(-failed));
    size_t len = strlen(asked);
    if (len > 1 && asked[len - 1] == '.' && asked[len - 2] == '/')
        asked[len - 1] = 0;
    g->asked = strdup(asked);
    if (!g->asked)
        return error_no_memory(k, "a permission");
    if (!S_ISDIR(about.st_mode)) {
        char *slash = strrchr(g->path, '/');
        g->file = strdup(slash + 1);
        if (!g->file)
            return error_no_memory(k, "a permission");
        slash[slash == g->path] = 0;
    }
    g->folder = open(g->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (g->folder < 0)
        return error_set(k, KILN_E_IO, K6005, "kiln_allow: '%s': %s", g->text, strerror(errno));
    return KILN_OK;
}

// Takes away the brackets that may stand around an address of IPv6.
static str host_of(const char *at, const char *colon)
{
    bool has_brackets = colon - at >= 2 && *at == '[' && colon[-1] == ']';
    return has_brackets ? (str){at + 1, (size_t)(colon - at) - 2} : (str){at, (size_t)(colon - at)};
}

static bool is_v6(str host)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr unused;
    const char *scope = memchr(host.at, '%', host.len);
    size_t len = scope ? (size_t)(scope - host.at) : host.len;
    if (len >= sizeof address)
        return false;
    memcpy(address, host.at, len);
    address[len] = 0;
    return inet_pton(AF_INET6, address, &unused) == 1;
}

// HOST:PORT, each may be *. What has more colons, or brackets, is an address of IPv6: its end is
// not taken for a port that was forgotten.
static bool is_address(const char *what)
{
    const char *port = strrchr(what, ':');
    if (!port || port == what)
        return false;
    str host = host_of(what, port);
    if ((host.at != what || memchr(what, ':', host.len)) && !is_v6(host))
        return false;
    size_t digits = strspn(++port, "0123456789");
    return !strcmp(port, "*") ||
           (digits > 0 && digits < 6 && !port[digits] && strtol(port, NULL, 10) <= 65535);
}

kiln_status kiln_allow(kiln *k, const char *right, const char *what)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    int found = -1;
    for (int n = 0; right && n < IO_RIGHT_COUNT; n++)
        if (!strcmp(right_names[n], right))
            found = n;
    if (found < 0)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_allow: '%s' is not read, write, net, env or stdin",
                         right ? right : "(null)");
    if (found != IO_STDIN && (!what || !*what))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_allow: \"%s\" of what?", right);
    if (found == IO_NET && !is_address(what))
        return error_set(
            k, KILN_E_BAD_ARGUMENT, K6003,
            "kiln_allow: \"net\" takes HOST:PORT, each may be *, not '%s'; the port is "
            "a number up to 65535, an IPv6 address may stand in brackets",
            what);
    io_state *s = io_of(k);
    io_grant *g = s ? calloc(1, sizeof *g) : NULL;
    if (g) {
        g->right = (io_right)found;
        g->folder = -1;
        g->text = strdup(what ? what : "");
    }
    if (!g || !g->text) {
        if (g)
            free_grant(g);
        return error_no_memory(k, "a permission");
    }
    kiln_status status = found <= IO_WRITE ? open_path(k, g) : KILN_OK;
    if (status) {
        free_grant(g);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    g->next = s->grants;
    s->grants = g;
    pthread_mutex_unlock(&s->lock);
    return KILN_OK;
}

void io_refuse(io_state *s, const char *format, ...)
{
    va_list args;
    char *out = malloc(IO_PATH + 512);
    if (!out)
        return;
    va_start(args, format);
    vsnprintf(out, IO_PATH + 512, format, args);
    va_end(args);
    pthread_mutex_lock(&s->lock);
    free(s->refusal);
    s->refusal = out;
    pthread_mutex_unlock(&s->lock);
}

const char *kiln_refusal(kiln *k)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return "";
    }
    return k->io && k->io->refusal ? k->io->refusal : "";
}

static bool is_same_word(const char *a, size_t len, const char *b, size_t b_len)
{
    if (len != b_len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

static bool net_fits(const char *grant, const char *asked)
{
    const char *g = strrchr(grant, ':'), *a = strrchr(asked, ':');
    if (!g || !a)
        return false;
    bool any_host = g == grant + 1 && *grant == '*';
    str host = host_of(grant, g);
    return (any_host || is_same_word(host.at, host.len, asked, (size_t)(a - asked))) &&
           (!strcmp(g, ":*") || strtol(g + 1, NULL, 10) == strtol(a + 1, NULL, 10));
}

bool io_may(io_state *s, io_right right, const char *asked)
{
    bool may = false;
    pthread_mutex_lock(&s->lock);
    for (const io_grant *g = s->grants; g && !may; g = g->next)
        may = g->right == right &&
              (right == IO_STDIN ||
               (right == IO_NET ? net_fits(g->text, asked)
                                : !strcmp(g->text, "*") || !strcmp(g->text, asked)));
    pthread_mutex_unlock(&s->lock);
    if (!may && right == IO_NET)
        io_refuse(s,
                  "a kernel may not reach %s: allow it with kiln_allow(k, \"net\", \"%s\") or "
                  "--allow-net=%s",
                  asked, asked, asked);
    else if (!may && right == IO_ENV)
        io_refuse(s,
                  "a kernel may not read the variable %s: allow it with kiln_allow(k, \"env\", "
                  "\"%s\") or --allow-env=%s",
                  asked, asked, asked);
    else if (!may)
        io_refuse(s, "a kernel may not read standard input: allow it with kiln_allow(k, \"stdin\", "
                     "NULL) or --allow-stdin");
    return may;
}

void io_free(kiln *k)
{
    io_state *s = k->io;
    if (!s)
        return;
    for (int32_t n = 0; n < IO_HANDLES; n++)
        if (s->handles[n].kind) {
            s->handles[n].users = 0;
            io_close(s, (int32_t)((uint32_t)s->handles[n].generation << 12 | (uint32_t)n));
        }
    while (s->grants) {
        io_grant *next = s->grants->next;
        free_grant(s->grants);
        s->grants = next;
    }
    for (int32_t n = 0; n < 3; n++)
        io_stream_free(s->standard[n]);
    free(s->refusal);
    pthread_mutex_destroy(&s->lock);
    free(s);
    k->io = NULL;
}
