// The rows of devices.def: every device has what the public calls use without asking, its targets
// are found by name, and the order is that of the ranks.
#include "tests/test.h"

#include <string.h>

#include "back/back.h"
#include "dev/device.h"

// Every function of device_ops is in one of two lists: a new one without a place here is noticed.
#define MAY(function) +1
enum {
    OPTIONAL = 0 MAY(info) MAY(wrap) MAY(dlpack) MAY(accepts_target) MAY(backend) MAY(read_code)
        MAY(unload) MAY(waits_for) MAY(ran_on) MAY(resources) MAY(occupancy) MAY(clusters)
            MAY(stream_native) MAY(stream_notify) MAY(stream_wrap) MAY(tensor_map)
                MAY(capture_of_others) MAY(print_lines)
};
#undef MAY

TEST(every_device_has_what_it_must_have)
{
    for (size_t n = 0; device_at(n); n++) {
        const device_ops *o = device_at(n)->ops;
        const struct {
            bool has;
            const char *name;
        } rows[] = {
#define MUST(function) {o->function != NULL, #function},
            MUST(count) MUST(find) MUST(info_at) MUST(target_at) MUST(open) MUST(close) MUST(sync)
                MUST(alloc) MUST(free) MUST(copy) MUST(fill) MUST(memory_info) MUST(memory_trim)
                    MUST(host_alloc) MUST(host_free) MUST(load) MUST(launch) MUST(stream_new)
                        MUST(stream_free) MUST(stream_is_done) MUST(stream_wait) MUST(event_new)
                            MUST(event_free) MUST(event_record) MUST(event_sync) MUST(event_elapsed)
                                MUST(capture_begin) MUST(capture_end) MUST(graph_new)
                                    MUST(graph_add) MUST(graph_kernel) MUST(graph_set)
                                        MUST(graph_launch) MUST(graph_free)
#undef MUST
        };
        size_t functions = (sizeof(device_ops) - offsetof(device_ops, count)) / sizeof o->count;
        if (functions != COUNT(rows) + OPTIONAL)
            fail_msg(
                "device_ops has %zu functions, %zu are listed here: add the new one to MUST or MAY",
                functions, COUNT(rows) + OPTIONAL);
        for (size_t k = 0; k < COUNT(rows); k++)
            if (!rows[k].has)
                fail_msg("the device '%s' has no %s", device_at(n)->name, rows[k].name);
    }
}

TEST(devices_are_found_by_name_and_listed_by_rank)
{
    size_t count = 0, all = 0;
    for (; device_at(count); count++) {
        const device_row *row = device_at(count);
        assert_ptr_equal(device_find(row->name, strlen(row->name)), row);
        if (count)
            assert_true(device_at(count - 1)->rank >= row->rank);
        all += row->ops->count();
    }
    assert_true(count >= 4);
    assert_null(device_find("no", 2));
    assert_null(device_find("cudax", 5));
    assert_int_equal(kiln_device_count(), all);
    kiln_device_info info;
    assert_int_equal(kiln_device_info_at(all - 1, &info), KILN_OK);
    assert_string_equal(info.device, "interp");
    assert_int_equal(kiln_device_info_at(all, &info), KILN_E_NOT_FOUND);
}

TEST(every_target_of_a_device_is_whole)
{
    for (size_t n = 0; device_at(n); n++)
        for (size_t k = 0; device_at(n)->ops->target_at(k); k++) {
            const target *t = device_at(n)->ops->target_at(k);
            assert_ptr_equal(device_target(t->name), t);
            assert_non_null(t->family);
            assert_true(strlen(t->name) < sizeof((kiln_device_info *)0)->target);
            assert_true(t->caps.subgroup && t->caps.block_threads && t->caps.shared_bytes);
            if (t->caps.has_wgmma)
                assert_true(t->caps.has_nv);
        }
    assert_null(device_target("sm_1"));
}

TEST(an_open_device_has_the_capabilities_that_it_tells)
{
    for (size_t n = 0; n < kiln_device_count(); n++) {
        kiln_device_info before, after;
        kiln *k = NULL;
        assert_int_equal(kiln_device_info_at(n, &before), KILN_OK);
        if (kiln_open(before.device, &k))
            continue;
        assert_int_equal(kiln_device_info_of(k, &after), KILN_OK);
        assert_memory_equal(&before.caps, &after.caps, sizeof before.caps);
        kiln_close(k);
    }
}
