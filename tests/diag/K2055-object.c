// a tensor map is a parameter of a kernel and nothing else
#include <kiln/kernel.h>

typedef struct both {
    tensor_map first;
    const tensor_map *second; // fine
} both;

static void by_value(tensor_map map)
{
    tensor_map_prefetch(&map);
}

static tensor_map result(const tensor_map *map)
{
    return *map;
}

static void by_address(const tensor_map *map) // fine
{
    tensor_map_prefetch(map);
}

kernel void run(tensor_map map, const tensor_map *far, tensor_map many[2])
{
    tensor_map own;
    tensor_map list[2];
    shared tensor_map common;
    static const tensor_map table;
    both two = {0};
    by_value(map);
    result(&map);
    by_address(two.second);
    prefetch(&map);
}
