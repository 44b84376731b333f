// #include: where a header is looked for, and what happens when it is not there. Order: Kiln's own
// headers and the C library's names it knows (no file is read for those; the text of lib/libc is
// Kiln's own), the including file's
// folder (quoted form; of the ops that come with the library: its own texts), the include folders.
// An unknown <system> header is empty: a kernel file may hold host code, and what a kernel needs of
// such a header it will miss by name. Start at pp_include.
#include <limits.h>
#include <stdlib.h>

#include "base/embed.h"
#include "base/file.h"
#include "front/pp.h"

// What a name in a directive leads to.
typedef struct found {
    enum { FOUND_NOTHING, FOUND_KNOWN, FOUND_EMBEDDED, FOUND_FILE } kind;
    unsigned header;  // FOUND_KNOWN
    const char *path; // FOUND_FILE, FOUND_EMBEDDED
    const char *text; // FOUND_EMBEDDED
    size_t text_len;
    bool is_closed;
} found;

static bool may_read_files(const pp *p)
{
    return p->f->options && p->f->options->allow_file_includes;
}

// Of Kiln's headers those that nobody fills in: others take types and sizes as macros.
static bool is_closed_header(const char *path)
{
    return !strncmp(path, "kiln/cuda", 9) || !strcmp(path, "kiln/io.h");
}

static found find_header(pp *p, str name, bool is_quoted)
{
    arena *a = p->f->in;
    unsigned header = pp_known_header(name);
    if (header && (!is_quoted || str_starts(name, "kiln/")))
        return (found){.kind = FOUND_KNOWN, .header = header};
    size_t len;
    const char *path = str_dup(a, name), *inside = NULL, *shown = str_format(a, "<%s>", path);
    bool is_closed = false;
    if (p->is_own && is_quoted) // library texts include one another
        inside = embed_find(str_format(a, "lib/%s", path), &len);
    else if (is_quoted && str_starts(str_of(p->file->file->path), "<") && p->file->file->is_builtin)
        inside = embed_find(str_format(a, "lib/libc/%s", path), &len), is_closed = true;
    else if (str_starts(name, "kiln/") && strlen(path) == name.len)
        inside = embed_find(path, &len), is_closed = is_closed_header(path);
    else if (is_quoted && !may_read_files(p) && str_starts(str_of(p->file->file->path), "ops/")) {
        shown = file_join(a, file_folder(p->file->file->path), name); // it may include others
        inside = embed_find(shown, &len);
    }
    if (inside)
        return (found){FOUND_EMBEDDED, .path = shown, .text = inside, .text_len = len,
                       .is_closed = is_closed};
    if (!may_read_files(p) || strlen(path) != name.len)
        return (found){0};
    if (is_quoted) {
        const char *near = file_join(a, file_folder(p->file->file->path), name);
        if (file_exists(near))
            return (found){.kind = FOUND_FILE, .path = near};
        source_note_absent(p->f->sources, near);
    }
    for (const char *const *folder = p->f->options->includes; folder && *folder; folder++) {
        const char *there = file_join(a, str_of(*folder), name);
        if (file_exists(there))
            return (found){.kind = FOUND_FILE, .path = there};
        source_note_absent(p->f->sources, there);
    }
    if (header)
        return (found){.kind = FOUND_KNOWN, .header = header};
    return (found){0};
}

bool pp_has_include(pp *p, str name, bool is_quoted)
{
    return find_header(p, name, is_quoted).kind != FOUND_NOTHING;
}

// One name for a file, whatever path leads to it.
static const char *file_key(pp *p, const char *path)
{
    char whole[PATH_MAX];
    return name_cstr(p->f->names,
                     !p->is_own && may_read_files(p) && realpath(path, whole) ? whole : path);
}

const char *pp_main_key(pp *p)
{
    open_file *outermost = p->file;
    while (outermost->outer)
        outermost = outermost->outer;
    if (!outermost->key) {
        outermost->key = file_key(p, outermost->file->path);
        *map_at(&p->texts, map_key(outermost->key)) = map_key(outermost->file);
    }
    return outermost->key;
}

static const source_file *load(pp *p, const found *where, const char *key, span at)
{
    uint64_t *slot = map_find(&p->texts, map_key(key));
    if (slot)
        return (const source_file *)(uintptr_t)*slot;
    str contents = {where->text, where->text_len};
    const char *reason = "the sources are larger than 1 GiB together";
    source_file *file = NULL;
    if (where->kind == FOUND_EMBEDDED ||
        file_read(p->f->in, where->path, PP_FILE_BYTES, &contents, &reason))
        file = source_add(p->f->sources, where->path, contents);
    if (!file && strstr(reason, "larger")) {
        diag *d = diag_raise(p->f->diags, K0018, at, "'%s' is too large", where->path);
        diag_label(d, at, "%s", reason);
        return NULL;
    }
    if (!file) {
        diag *d =
            diag_raise(p->f->diags, K0031, at, "'%s' cannot be read: %s", where->path, reason);
        diag_label(d, at, "included here");
        return NULL;
    }
    // A header of an op is a part of the op's kernel, built in or not: its macros may name what the
    // kernel declares.
    file->is_embedded = where->kind == FOUND_EMBEDDED;
    file->is_builtin = file->is_embedded && where->path[0] == '<';
    file->is_closed = where->is_closed;
    *map_at(&p->texts, map_key(key)) = map_key(file);
    return file;
}

static void complain_missing(pp *p, str name, span at)
{
    int len = name.len < 200 ? (int)name.len : 200;
    if (!may_read_files(p)) {
        diag *d = diag_raise(p->f->diags, K0028, at, "header '%.*s' cannot be included here", len,
                             name.at);
        diag_label(d, at, "this source was given as a string, without access to files");
        diag_note(d, "kiln's own headers are always there; for others compile from a file");
        return;
    }
    diag *d = diag_raise(p->f->diags, K0028, at, "header '%.*s' is not found", len, name.at);
    diag_label(d, at, "no such file in the folders below");
    str folder = file_folder(p->file->file->path);
    diag_note(d, "searched: '%.*s' (the folder of this file)", folder.len ? (int)folder.len : 1,
              folder.len ? folder.at : ".");
    for (const char *const *other = p->f->options->includes; other && *other; other++)
        diag_note(d, "searched: '%s'", *other);
    diag_note(d, "add a folder with -I FOLDER");
}

static void complain_depth(pp *p, const source_file *file, span at)
{
    const open_file *loop = NULL;
    for (const open_file *o = p->file; o; o = o->outer)
        if (o->file == file) {
            loop = o;
            break;
        }
    diag *d = loop ? diag_raise(p->f->diags, K0030, at,
                                loop == p->file ? "'%s' includes itself"
                                                : "'%s' includes itself through other headers",
                                file->path)
                   : diag_raise(p->f->diags, K0030, at,
                                "headers include each other more than %d deep", PP_INCLUDES);
    diag_label(d, at, loop ? "comes back to the same file" : "this would be one more");
    for (const open_file *o = p->file; loop && o != loop; o = o->outer)
        diag_label(d, o->include_at, "which includes this");
    if (loop)
        diag_note(d, "write '#pragma once' at the top of '%s'", file->path);
    pp_stop(p);
}

// Where NDEBUG is defined when the header is included, assert does nothing from there on, as C has
// it; without it the builtin is there again. Texts of Kiln's own keep theirs.
static void set_assert(pp *p)
{
    const macro *off = pp_ident(p, name_cstr(p->f->names, "NDEBUG"))->macro;
    const char *name = name_cstr(p->f->names, "assert");
    ident *id = pp_ident(p, name);
    if (id->macro && !id->macro->is_predefined) // the file's own
        return;
    id->macro = off ? pp_define_text(p, name, "(...) ((void)0)") : NULL;
    if (off)
        id->macro->is_users = true;
}

void pp_include(pp *p, str name, bool is_quoted, span at)
{
    found where = find_header(p, name, is_quoted);
    if (where.kind == FOUND_KNOWN) {
        p->headers |= where.header;
        p->has_kernel |= where.header == HDR_KERNEL && !p->file->file->is_builtin;
        if (where.header & (HDR_KERNEL | HDR_ASSERT))
            set_assert(p);
        if (where.header == HDR_KERNEL) // all of it is built in
            return;
        const char *shown = str_format(p->f->in, "<%.*s>", (int)name.len, name.at);
        where = (found){.kind = FOUND_EMBEDDED, .path = shown, .is_closed = true};
        where.text = embed_find(str_format(p->f->in, "lib/libc/%.*s", (int)name.len, name.at),
                                &where.text_len);
        if (!where.text)
            return;
    }
    if (where.kind == FOUND_NOTHING) {
        if (is_quoted)
            complain_missing(p, name, at);
        return;
    }
    const char *key =
        where.kind == FOUND_FILE ? file_key(p, where.path) : name_cstr(p->f->names, where.path);
    if (map_find(&p->once, map_key(key)))
        return;
    const source_file *file = load(p, &where, key, at);
    if (!file)
        return;
    p->has_plain_words |= file->is_builtin && str_same(name, STR("kiln/cuda.h"));
    if (p->file_depth >= PP_INCLUDES) {
        complain_depth(p, file, at);
        return;
    }
    pp_enter_file(p, file, key, at);
}
