// The rows of devices.def as data.
#include "dev/device.h"

#define DEVICE(name, rank) extern const device_ops name##_device_ops;
#include "dev/devices.def"
#undef DEVICE

static const device_row rows[] = {
#define DEVICE(name, rank) {#name, &name##_device_ops, rank},
#include "dev/devices.def"
#undef DEVICE
};

// Equal ranks keep the order of the table.
static bool comes_before(const device_row *a, const device_row *b)
{
    return a->rank > b->rank || (a->rank == b->rank && a < b);
}

const device_row *device_at(size_t index)
{
    for (size_t n = 0; n < COUNT(rows); n++) {
        size_t before = 0;
        for (size_t k = 0; k < COUNT(rows); k++)
            before += comes_before(&rows[k], &rows[n]);
        if (before == index)
            return &rows[n];
    }
    return NULL;
}

const device_row *device_find(const char *name, size_t len)
{
    for (size_t n = 0; n < COUNT(rows); n++)
        if (strlen(rows[n].name) == len && !memcmp(rows[n].name, name, len))
            return &rows[n];
    return NULL;
}

const struct target *device_target(const char *name)
{
    for (size_t n = 0; n < COUNT(rows); n++)
        for (size_t k = 0; rows[n].ops->target_at(k); k++)
            if (!strcmp(rows[n].ops->target_at(k)->name, name))
                return rows[n].ops->target_at(k);
    return NULL;
}
