// Shortest paths, a set of unions, a spanning tree and a knapsack: small algorithms with globals.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N           12
#define INDEX(r, c) ((r)*N + (c))
typedef struct edge {
    int from, to;
    double cost;
} edge;
static double distance[N][N], *flat = &distance[0][0];
static edge edges[N * N];
static int edge_count, parent[N];
static unsigned state = 12345;

static int random_below(int most)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 16 & 0x7fff) % most;
}
static int root(int i)
{
    return parent[i] == i ? i : (parent[i] = root(parent[i]));
}
static int by_cost(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return x->cost < y->cost    ? -1
           : x->cost > y->cost  ? 1
           : x->from != y->from ? x->from - y->from
                                : x->to - y->to;
}

static void floyd(void)
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                flat[INDEX(i, j)] = fmin(flat[INDEX(i, j)], distance[i][k] + distance[k][j]);
}

static int knapsack(const int *weights, const int *values, int count, int room)
{
    int best[64] = {0};
    for (int i = 0; i < count; i++)
        for (int w = room; w >= weights[i]; w--)
            if (best[w - weights[i]] + values[i] > best[w])
                best[w] = best[w - weights[i]] + values[i];
    return best[room];
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            distance[i][j] = i == j ? 0 : DBL_MAX;
    for (int i = 0; i < N; i++) {
        parent[i] = i;
        for (int n = 0; n < 3; n++) {
            int j = random_below(N);
            double cost = 1 + random_below(1000) / 16.0;
            if (i != j && cost < distance[i][j]) {
                distance[i][j] = distance[j][i] = cost;
                edges[edge_count++] = (edge){i, j, cost};
            }
        }
    }
    qsort(edges, (size_t)edge_count, sizeof edges[0], by_cost);
    double tree = 0;
    int used = 0;
    for (int e = 0; e < edge_count; e++) {
        int a = root(edges[e].from), b = root(edges[e].to);
        if (a == b)
            continue;
        parent[a] = b;
        tree += edges[e].cost;
        used++;
    }
    floyd();
    for (int i = 0; i < N; i += 3, puts(""))
        for (int j = 0; j < N; j += 2)
            printf("%9.4f", distance[i][j]);
    printf("%d edges, tree of %d: %.4f\n", edge_count, used, tree);
    static const int weights[] = {12, 7, 11, 8, 9}, values[] = {24, 13, 23, 15, 16};
    printf("knapsack %d, log %.12f, %s\n", knapsack(weights, values, 5, 26), log(tree),
           INT_MAX == 2147483647 ? "int" : "?");
    return used;
}
