// Warps whose lanes are threads, for the source of the mailbox protocol that runs on a GPU. Stands
// before the protocol's headers, which then use these lanes. A thread sets my_warp and my_lane.
#ifndef KILN_TESTS_PLAYED_H
#define KILN_TESTS_PLAYED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { LANES = 3 };

typedef struct played_warp {
    pthread_barrier_t barrier;
    uint32_t count;
    uint64_t values[LANES];
} played_warp;
static _Thread_local played_warp *my_warp;
static _Thread_local uint32_t my_lane;

static void lanes_meet(void)
{
    if (my_warp->count > 1)
        pthread_barrier_wait(&my_warp->barrier);
}
static uint64_t lanes_give(uint64_t value, uint32_t from) // from LANES: which values are not 0
{
    uint64_t result = 0;
    my_warp->values[my_lane] = value;
    lanes_meet();
    for (uint32_t l = 0; l < my_warp->count; l++)
        result |= (uint64_t)(my_warp->values[l] != 0) << l;
    result = from < LANES ? my_warp->values[from] : result;
    lanes_meet();
    return result;
}
// A lane of a play: what all lanes do with what all share.
typedef struct player {
    void *t; // the stage
    played_warp *of;
    uint32_t warp, lane;
    void (*play)(struct player *p);
    pthread_t thread;
} player;

static inline void *player_main(void *user)
{
    player *p = user;
    my_warp = p->of;
    my_lane = p->lane;
    p->play(p);
    return NULL;
}

enum { MOST_PLAYERS = 64 };
// Warp w has lanes[w] lanes. False: there are no threads for them.
static inline bool players_perform(void *stage, played_warp *warps, const uint32_t *lanes,
                                   uint32_t warp_count, void (*play)(player *))
{
    player players[MOST_PLAYERS];
    uint32_t count = 0;
    for (uint32_t w = 0; w < warp_count; w++) {
        warps[w].count = lanes[w];
        if (pthread_barrier_init(&warps[w].barrier, NULL, lanes[w]))
            return false;
        for (uint32_t l = 0; l < lanes[w]; l++, count++) {
            players[count] = (player){stage, &warps[w], w, l, play, 0};
            if (pthread_create(&players[count].thread, NULL, player_main, &players[count]))
                return false;
        }
    }
    for (uint32_t n = 0; n < count; n++)
        pthread_join(players[n].thread, NULL);
    for (uint32_t w = 0; w < warp_count; w++)
        pthread_barrier_destroy(&warps[w].barrier);
    return true;
}

#define word_lane()        my_lane
#define word_ballot(is)    ((uint32_t)lanes_give(is, LANES))
#define word_all(is)       (lanes_give(!(is), LANES) == 0)
#define word_from(v, from) ((__typeof__(v))lanes_give((uint64_t)(v), from))
#define word_sync()        lanes_meet()

#endif
