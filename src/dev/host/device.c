// Opening and closing a device of this process.
#include <stdio.h>
#include <stdlib.h>

#include "back/back.h"
#include "base/knobs.h"
#include "dev/host/host.h"

size_t host_count(void)
{
    return 1;
}

kiln_status host_find(int ordinal)
{
    (void)ordinal;
    return KILN_OK;
}

bool host_accepts_target(const kiln *k, const target *t)
{
    return t == k->target || t == &target_interp || target_find(t->name);
}

kiln_status host_open(kiln *k, int ordinal, const char *name, const target *t, size_t size)
{
    if (ordinal > 0)
        return error_set(NULL, KILN_E_NOT_FOUND, K6001, "there is only one device '%s'", name);
    host_device *d = k->dev = calloc(1, size);
    if (!d)
        return error_no_memory(NULL, "a device");
    int threads = knob_number(KNOB_THREADS), steps = knob_number(KNOB_STEPS);
    d->threads = threads > 0 ? (uint32_t)threads : 0;
    d->step_limit = steps > 0 ? (uint64_t)steps : 0;
    snprintf(k->device, sizeof k->device, "%s", name);
    k->target = t;
    k->caps = t->caps;
    return KILN_OK;
}

void host_close(kiln *k)
{
    host_device *d = host_of(k);
    if (!d)
        return;
    host_free_old_tables(d);
    free(d->table);
    free(d->free_rows);
    free(d);
    k->dev = NULL;
}
