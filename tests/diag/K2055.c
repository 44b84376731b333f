// a tensor map has no value: it is not read, assigned, indexed, cast or computed with
#include <kiln/kernel.h>

kernel void run(tensor_map map, const tensor_map other, u64 *out)
{
    const tensor_map *p = &map;
    (void)other;           // fine
    p = out ? p : &other;  // fine
    p = 0;                 // fine
    out[0] = sizeof map + sizeof *p + _Alignof(tensor_map); // fine
    map = other;
    map + 1;
    if (map)
        out[1] = p[1] == 0;
    p++;
    out[2] = ((const u64 *)&map)[3];
    p = (const tensor_map *)out;
    const void *v = p;
    p = v;
    out[3] = map.e[0] + p->e[0];
    out[4] = (u64)map;
    out[5] = (u64)p;
    tensor_map_prefetch(map);
}
