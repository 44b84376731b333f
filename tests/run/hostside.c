// Kernels beside host code in one file: what no kernel reaches is none of Kiln's business.
#include <assert.h>
#include <kiln/kernel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;
static FILE *log_file;
struct host_list {
    struct host_list *next;
    void (*visit)(struct host_list *);
    long double precise;
    unsigned bits : 3;
};

static void host_only(struct host_list *list, ...)
{
    for (; list; list = list->next) {
        if (list->visit)
            list->visit(list);
        if (calls++ > 100)
            goto done;
    }
done:
    if (log_file)
        fprintf(log_file, "%d calls\n", calls);
    free(malloc((size_t)abs(-3)));
}

static bool runs_on_the_host(u32 *a)
{
    struct host_list list = {.next = NULL};
    host_only(&list, 1, 2);
    f64 r = sqrt(2.0) + exp(1.0) + (f64)fabsf(-1.0f) + fmax(1.0, 2.0);
    return calls > 0 && r > 1 && strlen("kiln") == 4 && a[3] == 9;
}

//! run beside_host_code block=16 check=runs_on_the_host (u32[16]:iota)
kernel void beside_host_code(u32 *a)
{
    a[thread_x()] *= a[thread_x()];
}
