// The records of a channel (back/channel.h) as printed lines and errors, the same on every device.
#include "rt/channel/reader.h"

#include <stdio.h>

#include "rt/channel/format.h"
#include "rt/channel/server.h"

static print_args args_of(const kiln_module *m, const uint32_t *types, const uint64_t *bits,
                          uint32_t count)
{
    return (print_args){.types = types,
                        .bits = bits,
                        .count = count,
                        .strings = m->strings,
                        .string_count = m->string_count};
}

// A line of every lane; the bytes of the record, or 0 when it makes no sense.
static size_t format_packed(const kiln_module *m, const uint8_t *at, size_t left, print_out *out)
{
    enum { LANES = 32 };
    channel_lines head;
    if (left < sizeof head)
        return 0;
    memcpy(&head, at, sizeof head);
    size_t bytes = CHANNEL_BYTES(head.bytes), need = sizeof head;
    if (bytes > left || head.site >= m->site_count || !head.lanes || head.lanes > LANES)
        return 0;
    const channel_site *site = &m->sites[head.site];
    const uint8_t *rows[COUNT(site->arguments)];
    uint32_t types[COUNT(site->arguments)] = {0}, sizes[COUNT(site->arguments)];
    uint64_t bits[COUNT(site->arguments)] = {0};
    for (uint32_t n = 0; n < site->argument_count; n++) {
        types[n] = site->arguments[n];
        sizes[n] = ir_type_size((ir_type)types[n]) > 4 ? 8 : 4;
        rows[n] = at + need;
        need += (head.lanes * sizes[n] + 7) / 8 * 8;
    }
    if (bytes != need)
        return 0;
    for (uint32_t l = 0; l < head.lanes; l++) {
        for (uint32_t n = 0; n < site->argument_count; n++) // little-endian
            if (sizes[n] == 8)
                memcpy(&bits[n], rows[n] + 8 * l, 8);
            else
                memcpy(&bits[n], rows[n] + 4 * l, 4);
        print_args args = args_of(m, types, bits, site->argument_count);
        print_format(out, site->text, &args);
    }
    return bytes;
}

// One record; the bytes it has, or 0 when it makes no sense.
static size_t format_line(const kiln_module *m, const uint8_t *at, size_t left, print_out *out)
{
    channel_line line;
    uint32_t first = 0;
    if (left >= sizeof first)
        memcpy(&first, at, sizeof first);
    if (first & CHANNEL_PACKED)
        return format_packed(m, at, left, out);
    if (left < sizeof line)
        return 0;
    memcpy(&line, at, sizeof line);
    if (line.bytes < sizeof line || line.bytes > left || line.site >= m->site_count)
        return 0;
    const channel_site *site = &m->sites[line.site];
    uint64_t bits[COUNT(site->arguments)] = {0};
    uint32_t types[COUNT(site->arguments)] = {0};
    uint32_t count = (line.bytes - (uint32_t)sizeof line) / 8;
    if (count > site->argument_count)
        count = site->argument_count;
    memcpy(bits, at + sizeof line, count * sizeof bits[0]);
    for (uint32_t n = 0; n < count; n++)
        types[n] = site->arguments[n];
    print_args args = args_of(m, types, bits, count);
    print_format(out, site->text, &args);
    return line.bytes;
}

void channel_format_lines(const kiln_module *m, const uint8_t *lines, size_t len, print_out *out)
{
    for (size_t at = 0, bytes; at < len && (bytes = format_line(m, lines + at, len - at, out));)
        at += bytes;
}

void channel_print_lines(kiln_module *m, const uint8_t *lines, size_t len)
{
    enum { TOGETHER = 1 << 16 }; // so many bytes of text go out at once
    print_out out = {0};
    for (size_t at = 0, bytes; at < len && (bytes = format_line(m, lines + at, len - at, &out));) {
        at += bytes;
        if (out.len < TOGETHER)
            continue;
        context_print(m->k, out.at, out.len);
        out.len = 0;
    }
    if (out.len)
        context_print(m->k, out.at, out.len);
    print_free(&out);
}

void channel_print_lost(kiln_module *m, uint32_t count, int bytes)
{
    char text_of[128];
    int len = snprintf(text_of, sizeof text_of,
                       "… %u lines lost: the kernels printed more than %d bytes before a sync\n",
                       count, bytes);
    context_print(m->k, text_of, (size_t)len < sizeof text_of ? (size_t)len : sizeof text_of - 1);
}

// A site may stand in a function that kernels call.
static const char *kind_of(const kiln_module *m, const channel_site *site)
{
    for (size_t k = 0; k < m->kernel_count; k++)
        if (!strcmp(m->kernels[k]->name, site->kernel))
            return "kernel";
    return "function";
}

// A call of the host that did not end well.
static kiln_status set_host_fault(kiln_module *m, const channel_site *site,
                                  const channel_fault *fault, const char *where, const char *why)
{
    int32_t status = (int32_t)(uint32_t)fault->values[0];
    int name = (int)strcspn(site->text.at, " ");
    char what[256];
    bool is_cancelled = status == MAILBOX_CANCELLED;
    snprintf(what, sizeof what, "the host function '%.*s' %s", name, site->text.at,
             status == MAILBOX_TIMED_OUT   ? "did not answer in time"
             : status == MAILBOX_HOST_DOWN ? "was not called: the host program stands still"
             : status == SERVER_NO_MEMORY
                 ? "was not called: there is no host memory for what it is given"
                 : "was not called: what arrived makes no sense, or is too much");
    kiln_status result = is_cancelled ? KILN_E_CANCELLED : KILN_E_KERNEL;
    error_set(m->k, result,
              is_cancelled                 ? K6029
              : status == SERVER_STOPPED   ? K6048
              : status == SERVER_NO_MEMORY ? K6004
                                           : K6049,
              "%s '%s': %s%s\n  in thread (%u, %u, %u) of block (%u, %u, %u)", kind_of(m, site),
              site->kernel,
              is_cancelled               ? "the launch was cancelled"
              : status == SERVER_STOPPED ? why
                                         : what,
              where, fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
              fault->block[1], fault->block[2]);
    error_add_place(m->k, site->kernel, site->file, site->line, site->column);
    return result;
}

kiln_status channel_set_fault(kiln_module *m, const channel_fault *fault, const char *why)
{
    if (fault->site >= m->site_count)
        return error_set(m->k, KILN_E_KERNEL, K6035, "a kernel failed, and its record is broken");
    const channel_site *site = &m->sites[fault->site];
    char where[400] = "";
    if (site->line)
        snprintf(where, sizeof where, "\n  at %s:%u:%u", site->file, site->line, site->column);
    if (site->op == IR_HOST)
        return set_host_fault(m, site, fault, where, why);
    if (site->op == IR_ASSERT)
        error_set(m->k, KILN_E_KERNEL, channel_assert_code(site->text),
                  "%s '%s': %s%.*s%s\n  in thread (%u, %u, %u) of block (%u, %u, %u)",
                  kind_of(m, site), site->kernel, channel_assert_prefix(site->text),
                  (int)site->text.len, site->text.at, where, fault->thread[0], fault->thread[1],
                  fault->thread[2], fault->block[0], fault->block[1], fault->block[2]);
    else if (site->op == IR_BOUNDS) {
        char message[256];
        channel_bounds_text(message, sizeof message, site->text, site->elem, fault->values[0],
                            fault->values[1]);
        error_set(m->k, KILN_E_KERNEL, K6020,
                  "kernel '%s': %s%s\n  in thread (%u, %u, %u) of block (%u, %u, %u)", site->kernel,
                  message, where, fault->thread[0], fault->thread[1], fault->thread[2],
                  fault->block[0], fault->block[1], fault->block[2]);
    } else
        error_set(m->k, KILN_E_KERNEL, K6025,
                  "%s '%s': the kernel called trap()%s\n  in thread (%u, %u, %u) of block (%u, "
                  "%u, %u)",
                  kind_of(m, site), site->kernel, where, fault->thread[0], fault->thread[1],
                  fault->thread[2], fault->block[0], fault->block[1], fault->block[2]);
    error_add_place(m->k, site->kernel, site->file, site->line, site->column);
    return KILN_E_KERNEL;
}
