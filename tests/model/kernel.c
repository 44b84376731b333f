// Calls of the host through mailboxes, the source that the model checker proves: any lanes, with
// and without waiting, with data beside the rows.
#include <kiln/kernel.h>

#include "../../src/rt/channel/mailbox_warp.h"

static mailbox_place place_of(mailbox *boxes, mailbox_rows *rows, u64 *own, const u64 *beat,
                              u32 count)
{
    mailbox_place at = {boxes, rows, own, own + count, beat, count, 0, 0, 20000000000, 0};
    at.home = (block_x() * warp_count() + warp()) % count;
    return at;
}

kernel block(128) void look_up(mailbox *boxes, mailbox_rows *rows, u64 *own, const u64 *beat,
                               u32 count, const u32 *keys, u32 *found, i32 *status, u32 n)
{
    mailbox_place at = place_of(boxes, rows, own, beat, count);
    u32 i = global_x();
    u32 out[2] = {i < n ? keys[i] : 0, i}, in[2] = {0, 0};
    i32 result = mailbox_call(&at, i < n && (out[0] & 1) != 0, MAILBOX_KIND(1, 2, 2), out, in);
    if (i < n) {
        found[i] = in[1];
        status[i] = result;
    }
}

kernel block(64) void log_all(mailbox *boxes, mailbox_rows *rows, u64 *own, const u64 *beat,
                              u32 count, i32 *status)
{
    mailbox_place at = place_of(boxes, rows, own, beat, count);
    u32 out[1] = {global_x()};
    at.patience = 1000000000000;
    status[global_x()] = mailbox_send(&at, lane() < 7, MAILBOX_KIND(2, 1, 0), out);
}

kernel block(32) void transform(mailbox *boxes, mailbox_rows *rows, u64 *own, const u64 *beat,
                                u32 count, u64 *arena, u64 *sum)
{
    mailbox_place at = place_of(boxes, rows, own, beat, count);
    u32 out[1] = {lane()}, in[1] = {0};
    u32 kind = MAILBOX_KIND(3, 1, 1) | MAILBOX_IS_BULK;
    mailbox_hold hold;
    if (mailbox_claim(&at, word_ballot(true), &hold) != MAILBOX_OK)
        return;
    u64 *mine = arena + 32 * (hold.own - own) + lane();
    *mine = global_x();
    mailbox_post(&hold, true, kind, out);
    if (mailbox_wait(&at, &hold, true, kind, in) != MAILBOX_OK)
        return;
    sum[global_x()] = word_load(mine);
    mailbox_release(&hold, kind);
}
