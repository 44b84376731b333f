#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct game;
typedef void (*action_fn)(struct game *, const char *arg);
typedef const struct room *(*state_fn)(struct game *);
enum dir { NORTH, EAST, SOUTH, WEST, NDIR };
static const char *const dir_names[NDIR] = {
    [NORTH] = "north", [EAST] = "east", [SOUTH] = "south", [WEST] = "west"};
struct item {
    const char *name, *text;
    int where;
};
struct room {
    const char *name;
    const char *text;
    signed char exits[NDIR];
    void (*on_enter)(struct game *);
};
struct game {
    int room;
    int moves;
    unsigned lit : 1, done : 1, won : 1;
    int score;
};

static struct item items[] = {
    {"lamp", "a brass lamp", 0}, {"key", "a rusty key", 2}, {"gem", "a red gem", 3}};
#define N_ITEMS ((int)(sizeof items / sizeof *items))
enum { CARRIED = -2 };

static void dark(struct game *g)
{
    if (!g->lit)
        puts("It is pitch dark.");
}
static void treasure(struct game *g)
{
    g->score += 10;
    printf("You feel rich. (score %d)\n", g->score);
}

static const struct room rooms[] = {
    {"Hall", "A draughty hall.", {1, 2, -1, -1}, NULL},
    {"Garden", "Weeds, mostly.", {-1, -1, 0, -1}, 0},
    {"Cellar", "It smells of old wine.", {-1, 3, -1, 0}, dark},
    {"Vault", "Something glitters.", {-1, -1, -1, 2}, treasure},
};
static int find(const char *name, int where)
{
    for (int i = 0; i < N_ITEMS; i++)
        if (items[i].where == where && strcmp(items[i].name, name) == 0)
            return i;
    return -1;
}
static void describe(struct game *g)
{
    const struct room *r = &rooms[g->room];
    printf("\n-- %s --\n%s\n", r->name, r->text);
    for (struct item *it = items; it != items + N_ITEMS; it++)
        if (it->where == g->room)
            printf("There is %s here.\n", it->text);
    printf("Exits:");
    for (enum dir d = NORTH; d < NDIR; d++)
        if (r->exits[d] >= 0)
            printf(" %s", dir_names[d]);
    putchar('\n');
}
static void go(struct game *g, const char *arg)
{
    for (int d = 0; d < NDIR; d++)
        if (!strcmp(arg, dir_names[d])) {
            int to = rooms[g->room].exits[d];
            if (to < 0) {
                puts("You can't go that way.");
                return;
            }
            if (to == 3 && find("key", CARRIED) < 0) {
                puts("The vault is locked.");
                return;
            }
            g->room = to;
            if (rooms[to].on_enter)
                rooms[to].on_enter(g);
            describe(g);
            return;
        }
    printf("Go where? '%s' is no direction.\n", arg);
}
static void take(struct game *g, const char *arg)
{
    int i = find(arg, g->room);
    if (i < 0) {
        printf("I see no %s here.\n", *arg ? arg : "such thing");
        return;
    }
    items[i].where = CARRIED;
    printf("You take the %s.\n", items[i].name);
    if (i == 2)
        g->won = g->done = 1;
}
static void light(struct game *g, const char *arg)
{
    (void)arg;
    if (find("lamp", CARRIED) >= 0) {
        g->lit = 1;
        puts("The lamp shines.");
    } else
        puts("With what?");
}
static void inventory(struct game *g, const char *arg)
{
    int n = 0;
    (void)g;
    (void)arg;
    for (int i = 0; i < N_ITEMS; ++i)
        if (items[i].where == CARRIED)
            printf("%s%s", n++ ? ", " : "You carry: ", items[i].text);
    puts(n ? "." : "You carry nothing.");
}
static void look(struct game *g, const char *arg)
{
    (void)arg;
    describe(g);
}
static void quit(struct game *g, const char *arg)
{
    (void)arg;
    g->done = 1;
}
static const struct command {
    char name[12];
    action_fn run;
} commands[] = {{"go", go},      {"take", take}, {"light", light}, {"inventory", inventory},
                {"look", &look}, {"quit", quit}, {"", NULL}};
int main(void)
{
    struct game game = {0}, *g = &game;
    char line[64];
    describe(g);
    while (!g->done && printf("> ") > 0 && fgets(line, sizeof(line), stdin) != NULL) {
        char verb[32] = "", arg[32] = "";
        for (char *p = line; *p; p++)
            *p = tolower((unsigned char)*p);
        if (sscanf(line, " %31s %31s", verb, arg) < 1)
            continue;
        puts("");
        g->moves++;
        const struct command *c = commands;
        while (c->run && strncmp(c->name, verb, strlen(verb)))
            c++;
        if (c->run)
            c->run(g, arg);
        else
            printf("I don't know how to %s.\n", verb);
    }
    printf("\n%s in %d moves with %d points.\n", g->won ? "Won" : "Over", g->moves, g->score);
    return g->won ? 0 : 1;
}
