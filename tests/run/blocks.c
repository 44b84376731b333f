// What the threads of a block or a grid work out together: scans by looking back, sets that are
// united, carries that travel through a ballot, a game of cells.
#include <kiln/kernel.h>

static bool is_scan(const u32 *in, u32 *out)
{
    u32 sum = 0;
    for (u32 i = 0; i < 500; i++) {
        sum += in[i];
        if (out[i] != sum)
            return false;
    }
    return true;
}
static bool scan_is_right(const u32 *in, u32 *out, u64 *state, u32 *ticket)
{
    (void)state;
    return *ticket == 8 && is_scan(in, out);
}
// A block that has its own sum says so; one that has its end of the scan says that instead. Who
// looks back adds sums until it meets such an end.
//! run look_back grid=8 block=64 check=scan_is_right (u32[500]:bits, u32[500], u64[8], u32[1])
kernel block(64) void look_back(const u32 *in, u32 *out, u64 *state, u32 *ticket)
{
    enum { HAS_SUM = 1, HAS_END = 2 };
    shared u32 number, before;
    if (thread_x() == 0)
        number = atomic_add(ticket, 1u);
    barrier();
    u32 b = number, i = b * 64 + thread_x();
    u32 value = i < 500 ? in[i] : 0, mine = block_scan_sum(value), sum = block_sum(value);
    if (thread_x() == 0) {
        u32 past = 0;
        if (b)
            atomic_store(&state[b], (u64)HAS_SUM << 32 | sum);
        for (u32 p = b; p-- > 0;) {
            u64 s;
            do
                s = atomic_load(&state[p]);
            while (s >> 32 == 0);
            past += (u32)s;
            if (s >> 32 == HAS_END)
                break;
        }
        atomic_store(&state[b], (u64)HAS_END << 32 | (u32)(past + sum));
        before = past;
    }
    barrier();
    if (i < 500)
        out[i] = mine + before;
}

static bool sets_are_right(const u32 *edges, u32 *parent)
{
    u32 least[200];
    for (u32 i = 0; i < 200; i++)
        least[i] = i;
    for (u32 again = 1; again;) {
        again = 0;
        for (u32 e = 0; e < 150; e++) {
            u32 *a = &least[edges[2 * e]], *b = &least[edges[2 * e + 1]];
            again |= *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
    for (u32 i = 0; i < 200; i++)
        if (parent[i] != least[i])
            return false;
    return true;
}
static u32 root_of(const u32 *parent, u32 at)
{
    for (u32 up; (up = atomic_load(&parent[at])) != at;)
        at = up;
    return at;
}
// The larger root is hung under the smaller one, unless another thread was faster.
//! run unite block=150 check=sets_are_right (u32[300]:mod200, u32[200])
kernel block(150) void unite(const u32 *edges, u32 *parent)
{
    u32 t = thread_x(), a = edges[2 * t], b = edges[2 * t + 1];
    for (u32 i = t; i < 200; i += 150)
        parent[i] = i;
    barrier();
    for (;;) {
        a = root_of(parent, a);
        b = root_of(parent, b);
        u32 low = min(a, b), high = max(a, b);
        if (low == high || atomic_cas(&parent[high], high, low) == high)
            break;
    }
    barrier();
    for (u32 i = t; i < 200; i += 150)
        atomic_store(&parent[i], root_of(parent, i));
}

static bool sum_is_right(const u32 *a, const u32 *b, u32 *sum)
{
    u64 carry = 0;
    for (u32 i = 0; i < 32; i++) {
        carry += (u64)a[i] + b[i];
        if (sum[i] != (u32)carry)
            return false;
        carry >>= 32;
    }
    return sum[32] == carry;
}
// Numbers of 1024 bits: a word that is all ones passes a carry on, so adding the words that make
// one to those that pass one, as numbers of 32 bits, moves all carries at once.
//! run add_wide block=32 check=sum_is_right (u32[32]:edge, u32[32]:bits, u32[33])
kernel block(32) void add_wide(const u32 *a, const u32 *b, u32 *sum)
{
    u32 word = a[lane()] + b[lane()];
    u64 makes = warp_ballot(word < a[lane()]), passes = warp_ballot(word == 0xffffffff);
    u64 carries = (passes + (makes << 1)) ^ passes;
    sum[lane()] = word + (u32)(carries >> lane() & 1);
    if (lane() == 0)
        sum[32] = (u32)(carries >> 32 & 1);
}

static bool cells_are_right(const u32 *now, u32 *next)
{
    for (u32 r = 0; r < 29; r++)
        for (u32 c = 0; c < 32; c++) {
            u32 count = 0;
            for (u32 k = 0; k < 9; k++)
                count += k == 4 ? 0 : now[(r + 28 + k / 3) % 29] >> (c + 31 + k % 3) % 32 & 1;
            u32 lives = count == 3 || (count == 2 && (now[r] >> c & 1));
            if ((next[r] >> c & 1) != lives)
                return false;
        }
    return true;
}
// Conway's game, 32 cells a word: neighbours are counted in bits of three words, all cells at once.
//! run cells block=29 check=cells_are_right (u32[29]:bits, u32[29])
kernel block(29) void cells(const u32 *now, u32 *next)
{
    u32 r = thread_x(), ones = 0, twos = 0, fours = 0;
    for (u32 k = 0; k < 9; k++) {
        u32 row = now[(r + 28 + k / 3) % 29];
        if (k == 4)
            continue;
        row = k % 3 == 0 ? rotate_left(row, 1) : k % 3 == 2 ? rotate_right(row, 1) : row;
        u32 carry = ones & row;
        ones ^= row;
        fours |= twos & carry;
        twos ^= carry;
    }
    next[r] = twos & ~fours & (ones | now[r]);
}
