// Diagnostics for editors: one JSON object a line. Lines and columns count from 1, columns in
// bytes; ends are exclusive. A record without a place has no "file". Places follow #line, but those
// of edits, which are made in the file itself. "uses": how a macro brought the text to its place.
#include "base/diag.h"
#include "base/utf8.h"

static void put_string(text *out, const char *s)
{
    text_putc(out, '"');
    unsigned len;
    for (size_t left = strlen(s); left; s += len, left -= len) {
        uint32_t c = utf8_read(s, left, &len);
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", (char)c);
        else if (c == '\n')
            text_puts(out, "\\n");
        else if (c < ' ' || c == 127 || c == 0xfffd)
            text_printf(out, "\\u%04x", (unsigned)c);
        else
            text_add(out, s, len);
    }
    text_putc(out, '"');
}

static void put_field(text *out, const char *name, const char *value)
{
    text_printf(out, "\"%s\":", name);
    put_string(out, value);
}

// The fields of a place, each followed by a comma.
static void put_place(diags *ds, text *out, span at, bool is_edit)
{
    source_place lo = source_find(ds->sources, at.lo);
    if (!lo.file)
        return;
    uint32_t end = lo.file->base + (uint32_t)lo.file->text.len;
    source_place hi = source_find(ds->sources, at.hi < at.lo ? at.lo : at.hi > end ? end : at.hi);
    uint32_t first = is_edit ? lo.line : source_shown_line(lo.file, lo.line);
    uint32_t last = is_edit ? hi.line : source_shown_line(hi.file, hi.line);
    put_field(out, "file", is_edit ? lo.file->path : source_shown_path(lo.file, lo.line));
    text_printf(out, ",\"line\":%u,\"column\":%u,\"end_line\":%u,\"end_column\":%u,", first,
                lo.column, last, hi.column);
}

static void put_part(diags *ds, text *out, const diag_part *part, bool is_first, bool is_edit)
{
    text_puts(out, is_first ? "{" : ",{");
    put_place(ds, out, part->at, is_edit);
    put_field(out, "text", part->text);
    text_putc(out, '}');
}

static void put_record(diags *ds, text *out, const diag *d)
{
    static const char *const names[] = {
        [DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_REMARK] = "remark"};
    text_putc(out, '{');
    put_field(out, "code", diag_code_name(d->code));
    text_putc(out, ',');
    put_field(out, "level", names[d->level]);
    text_putc(out, ',');
    put_place(ds, out, d->at, false);
    put_field(out, "message", d->message);
    text_puts(out, ",\"labels\":[");
    for (uint32_t i = 0; i < d->labels.len; i++)
        put_part(ds, out, &d->labels.at[i], !i, false);
    if (d->uses.len)
        text_puts(out, "],\"uses\":[");
    for (uint32_t i = 0; i < d->uses.len; i++)
        put_part(ds, out, &d->uses.at[i], !i, false);
    text_puts(out, "],\"notes\":[");
    for (uint32_t i = 0; i < d->notes.len; i++) {
        text_puts(out, i ? "," : "");
        put_string(out, d->notes.at[i]);
    }
    text_puts(out, "],\"fixes\":[");
    for (uint32_t i = 0; i < d->fixes.len; i++) {
        text_puts(out, i ? ",{" : "{");
        put_field(out, "title", d->fixes.at[i].title);
        text_puts(out, ",\"edits\":[");
        for (uint32_t j = 0; j < d->fixes.at[i].edits.len; j++)
            put_part(ds, out, &d->fixes.at[i].edits.at[j], !j, true);
        text_puts(out, "]}");
    }
    text_puts(out, "]}\n");
}

void diag_render_json(diags *ds, text *out)
{
    for (uint32_t i = 0; i < ds->list.len; i++)
        put_record(ds, out, ds->list.at[i]);
}
