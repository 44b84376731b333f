// GNU's statement expressions: macros that evaluate once, values of every kind, loops and switches
// inside, `return` out of them, nested and in conditions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MAX(a, b)                                                                                  \
    ({                                                                                             \
        __typeof__(a) _a = (a);                                                                    \
        __typeof__(b) _b = (b);                                                                    \
        _a > _b ? _a : _b;                                                                         \
    })
#define SUM(n, f)                                                                                  \
    ({                                                                                             \
        long s_ = 0;                                                                               \
        for (int i_ = 0; i_ < (n); i_++) {                                                         \
            if (i_ == 3)                                                                           \
                continue;                                                                          \
            if (i_ > 7)                                                                            \
                break;                                                                             \
            s_ += f(i_);                                                                           \
        }                                                                                          \
        s_;                                                                                        \
    })
struct p {
    int x, y;
    char n[4];
};
static int sq(int x)
{
    return x * x;
}
static int g;
static int clamp(int v, int lo, int hi)
{
    return MAX(lo, ({
                   int r = v;
                   if (r > hi)
                       r = hi;
                   r;
               }));
}
static struct p mk(int k)
{
    return ({
        struct p q = {k, k + 1, "ab"};
        q.x *= 2;
        q;
    });
}
static int first(void)
{
    int a = 3;
    printf("%d %d %d\n", MAX(a++, 2), a, MAX(MAX(1, 5), MAX(4, 2)));
    printf("%ld %d %d %d\n", SUM(10, sq), clamp(5, 0, 3), clamp(-5, 0, 3), clamp(2, 0, 3));
    struct p z = mk(4), w;
    printf("%d %d %s\n", z.x, mk(7).y, z.n);
    w = ({
        z.y++;
        z;
    });
    printf("%d\n", w.y);
    for (int i = 0; i < 3; i++) {
        int v = ({
            int t = i;
            switch (t) {
            case 0: t = 10; break;
            case 1: t = 20;
            default: t++;
            }
            t;
        });
        printf("%d ", v);
    }
    puts("");
    int c = a > 0 && ({
                g++;
                a < 10;
            });
    c += a > 100 && ({
             g++;
             1;
         });
    printf("%d %d\n", c, g);
    ({ puts("void"); });
    ({
        int q = 5;
        (void)q;
    });
    MAX(g, 2);
    char *s = ({
        char *m = malloc(8);
        strcpy(m, "heap");
        m;
    });
    puts(s);
    free(s);
    printf("%zu %zu\n", sizeof(({
               char ch = 1;
               ch;
           })),
           sizeof(({
               long l = 1;
               l;
           })));
    int arr[] = {({
                     int k = 1;
                     k + 1;
                 }),
                 ({ 2 * 2; })};
    printf("%d %d\n", arr[0], arr[1]);
    while (({
        a--;
        a > 1;
    }))
        printf("w%d ", a);
    puts("");
    if (({
            int e = g;
            e;
        }))
        puts("yes");
    int *pp = ({
        static int keep = 7;
        keep++;
        &keep;
    });
    printf("%d\n", *pp);
    double d = ({
                   float f = 1.5f;
                   f * 2;
               }) +
               ({
                   int n = 2;
                   n;
               });
    printf("%g\n", d);
    printf("%d\n", ({
               int s2 = 0;
               do {
                   s2++;
               } while (s2 < 4);
               ({ s2 *({ s2; }); });
           }));
    return ({
        int r = 0;
        r;
    });
}
#define TRY(e)                                                                                     \
    ({                                                                                             \
        int r_ = (e);                                                                              \
        if (r_ < 0)                                                                                \
            return r_;                                                                             \
        r_;                                                                                        \
    })
static int step(int x)
{
    return x > 5 ? -x : x + 1;
}
static int run(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        s += TRY(step(i));
        if (TRY(step(s - 100)) > 90)
            s--;
    }
    return s;
}
static int known(int x)
{
    int y = ({
        if (1)
            return x + 40;
        x;
    });
    return y;
}
static int known2(int x)
{
    int y = x > 2 ? ({
        if (sizeof(int) == 4)
            return x + 50;
        x;
    })
                  : 7;
    return y;
}
static int never(int x)
{
    return x && ({
               if (0)
                   return 9;
               x > 1;
           });
}
static const char *name(int k)
{
    const char *s = ({
        if (k == 3)
            return "three";
        k ? "some" : "none";
    });
    return s;
}
struct two {
    int a, b;
};
static struct two pair(int k)
{
    struct two q = ({
        if (k < 0)
            return (struct two){-1, -1};
        (struct two){k, k * 2};
    });
    q.a++;
    return q;
}
static void nothing(int k)
{
    printf("%d ", ({
               if (k)
                   return;
               5;
           }));
}
// Statements whose end nobody reaches when a condition holds that is known now.
static int ends(int x)
{
    int sum = x > 1000 ? ({
        int w = 5;
        if (sizeof(int) == 4)
            for (;;)
                x++;
        w;
    })
                       : 9;
    sum += x > 1000 ? ({
        int w = 5;
        if (sizeof(int) == 4)
            __builtin_unreachable();
        w;
    })
                    : 8;
    return sum;
}

int main(void)
{
    first();
    printf("%d\n", ends(3));
    printf("%d %d %d %d %d %d %d\n", run(3), run(5), run(9), known(2), known2(1), known2(5),
           never(3));
    printf("%s %s %s\n", name(0), name(3), name(5));
    printf("%d %d\n", pair(-4).b, pair(4).a);
    nothing(0);
    nothing(1);
    puts("");
    return 0;
}
