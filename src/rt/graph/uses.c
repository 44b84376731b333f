// What a graph uses: the module of each kernel, and each buffer, with the number it had. Buffers
// are held: their memory stays until the graph goes. Modules are not, and buffers of another
// context go with that context; so a graph's launch asks whether everything is still what it was.
#include <stdlib.h>

#include "rt/rt.h"

enum { LOOK_BACK = 16 }; // for the same one; more would take its time in a long capture

static bool add(graph_uses *u, handle_kind kind, const void *handle, size_t node,
                kiln_kernel *kernel)
{
    graph_use use = {(uint8_t)kind, handle, handle_id(kind, handle), node, kernel};
    for (size_t k = u->len; k > 0 && k + LOOK_BACK > u->len; k--)
        if (u->at[k - 1].id == use.id && u->at[k - 1].node == node && u->at[k - 1].kernel == kernel)
            return true;
    if (u->len == u->cap) {
        size_t cap = u->cap ? u->cap * 2 : 16;
        graph_use *grown = realloc(u->at, cap * sizeof *grown);
        if (!grown)
            return false;
        u->at = grown;
        u->cap = cap;
    }
    u->at[u->len++] = use;
    if (kind == HANDLE_BUFFER)
        buffer_retain_use((kiln_buffer *)(uintptr_t)handle);
    return true;
}

static bool is_alive(const graph_use *use)
{
    return handle_id((handle_kind)use->kind, use->handle) == use->id;
}

static void let_go(const graph_use *use)
{
    if (use->kind == HANDLE_BUFFER && is_alive(use))
        buffer_release((kiln_buffer *)(uintptr_t)use->handle);
}

bool uses_add_launch(graph_uses *u, kiln_kernel *kernel, const kiln_arg *args, size_t count,
                     size_t node)
{
    bool fine = add(u, HANDLE_MODULE, kernel->module, node, kernel);
    for (size_t k = 0; k < count && fine; k++)
        if (handle_is(HANDLE_BUFFER, args[k].kind == 1 ? args[k].pointer : NULL))
            fine = add(u, HANDLE_BUFFER, args[k].pointer, node, NULL);
    return fine;
}

bool uses_add_buffer(graph_uses *u, const kiln_buffer *b)
{
    return !b || add(u, HANDLE_BUFFER, b, SIZE_MAX, NULL);
}

void uses_drop_node(graph_uses *u, size_t node)
{
    size_t kept = 0;
    for (size_t k = 0; k < u->len; k++)
        if (u->at[k].node != node)
            u->at[kept++] = u->at[k];
        else
            let_go(&u->at[k]);
    u->len = kept;
}

void uses_free(graph_uses *u)
{
    for (size_t k = 0; k < u->len; k++)
        let_go(&u->at[k]);
    free(u->at);
    *u = (graph_uses){0};
}

const graph_use *uses_find_dead(const graph_uses *u)
{
    for (size_t k = 0; k < u->len; k++)
        if (!is_alive(&u->at[k]))
            return &u->at[k];
    return NULL;
}
