// What a GNU statement expression cannot be: at file scope, with jumps across its end, without an
// end.
#include <kiln/kernel.h>

static const i32 table[] = {({ 1; }), 2};

kernel block(64) void f(f32 *x, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        x[i] = ({
            if (i == 3)
                break;
            f32 t = x[i];
            t * t;
        });
        x[i] += ({
            if (i == 4)
                goto next;
            inside:
            1.0f;
        });
        goto inside;
    next:;
    }
    switch (n) {
        x[1] = ({
        case 1:
            2.0f;
        });
    }
    x[2] = ({
        trap();
        1.0f;
    });
    x[3] = (f32)table[0] + ({ n++; x; });
    x[4] = ({ n++; });
    x[5] = ({ i32 k = 1; });
    ({ x[6] = 1; });
}
