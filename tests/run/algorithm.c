// Whole little programs: hashes, ciphers, dynamic programming, number theory, signal processing.
#include <kiln/kernel.h>

static u32 crc_of(const u8 *data, u32 n)
{
    u32 crc = ~0u;
    for (u32 i = 0; i < n; i++) {
        crc ^= data[i];
        for (u32 k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}
static bool crc_is_right(const u8 *in, u32 *out)
{
    return crc_of((const u8 *)"123456789", 9) == 0xcbf43926u && out[3] == crc_of(in + 48, 16);
}
//! run crc32 block=32 check=crc_is_right (u8[512]:bits, u32[32])
kernel void crc32(const u8 *in, u32 *out)
{
    out[thread_x()] = crc_of(in + 16 * thread_x(), 16);
}

static u32 fnv1a(const u8 *p, u32 n)
{
    u32 h = 2166136261u;
    while (n--)
        h = (h ^ *p++) * 16777619u;
    return h;
}
//! run fnv_hash block=32 (u8[512]:bits, u32[32])
kernel void fnv_hash(const u8 *in, u32 *out)
{
    out[thread_x()] = fnv1a(in + 16 * thread_x(), thread_x() % 17);
}

typedef struct xoshiro {
    u64 s[4];
} xoshiro;
static u64 xoshiro_next(xoshiro *x)
{
    u64 result = rotate_left(x->s[1] * 5, 7) * 9, t = x->s[1] << 17;
    x->s[2] ^= x->s[0];
    x->s[3] ^= x->s[1];
    x->s[1] ^= x->s[2];
    x->s[0] ^= x->s[3];
    x->s[2] ^= t;
    x->s[3] = rotate_left(x->s[3], 45);
    return result;
}
//! run random_numbers block=32 (xoshiro[32]:bits@u64, u64[32], f32[32])
kernel void random_numbers(xoshiro *state, u64 *out, f32 *unit)
{
    xoshiro x = state[thread_x()];
    for (u32 i = 0; i < 20; i++)
        out[thread_x()] = xoshiro_next(&x);
    unit[thread_x()] = (f32)(xoshiro_next(&x) >> 40) * 0x1p-24f;
    state[thread_x()] = x;
}

#define QUARTER(a, b, c, d)                                                                        \
    a += b, d = rotate_left(d ^ a, 16);                                                            \
    c += d, b = rotate_left(b ^ c, 12);                                                            \
    a += b, d = rotate_left(d ^ a, 8);                                                             \
    c += d, b = rotate_left(b ^ c, 7);
//! run chacha block=8 (u32[128]:bits, u32[128])
kernel void chacha(const u32 *in, u32 *out)
{
    u32 x[16];
    for (u32 i = 0; i < 16; i++)
        x[i] = in[16 * thread_x() + i];
    for (u32 round = 0; round < 10; round++) {
        QUARTER(x[0], x[4], x[8], x[12])
        QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14])
        QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15])
        QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13])
        QUARTER(x[3], x[4], x[9], x[14])
    }
    for (u32 i = 0; i < 16; i++)
        out[16 * thread_x() + i] = x[i] + in[16 * thread_x() + i];
}

static const u32 sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static void sha_block(u32 h[8], const u32 *block_words)
{
    u32 w[64], s[8];
    for (u32 i = 0; i < 16; i++)
        w[i] = block_words[i];
    for (u32 i = 16; i < 64; i++) {
        u32 a = w[i - 15], b = w[i - 2];
        a = rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3;
        b = rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    for (u32 i = 0; i < 8; i++)
        s[i] = h[i];
    for (u32 i = 0; i < 64; i++) {
        u32 e = s[4], a = s[0];
        u32 t1 = s[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                 ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
        u32 t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                 ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (u32 k = 7; k > 0; k--)
            s[k] = s[k - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (u32 i = 0; i < 8; i++)
        h[i] += s[i];
}
static bool sha_of_empty(u32 *out)
{
    return out[0] == 0xe3b0c442u && out[7] == 0x7852b855u;
}
//! run sha256 block=1 check=sha_of_empty (u32[8])
kernel void sha256(u32 *out)
{
    u32 h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 message[16] = {0x80000000u};
    sha_block(h, message);
    for (u32 i = 0; i < 8; i++)
        out[i] = h[i];
}

//! run levenshtein block=16 (u8[128]:mod3, u8[128]:mod3, u32[16])
kernel void levenshtein(const u8 *a, const u8 *b, u32 *out)
{
    u32 row[9];
    const u8 *s = a + 8 * thread_x(), *t = b + 8 * thread_x();
    for (u32 j = 0; j <= 8; j++)
        row[j] = j;
    for (u32 i = 1; i <= 8; i++) {
        u32 diagonal = row[0];
        row[0] = i;
        for (u32 j = 1; j <= 8; j++) {
            u32 change = diagonal + (s[i - 1] != t[j - 1]);
            diagonal = row[j];
            row[j] = min(min(row[j] + 1, row[j - 1] + 1), change);
        }
    }
    out[thread_x()] = row[8];
}

static bool prime_count(u32 *out)
{
    u32 n = 0;
    for (u32 i = 0; i < 512; i++)
        n += out[i];
    return n == 97; // primes below 512
}
//! run primes grid=8 block=64 check=prime_count (u32[512])
kernel void primes(u32 *out)
{
    u32 n = global_x();
    bool prime = n > 1;
    for (u32 d = 2; d * d <= n && prime; d++)
        if (n % d == 0)
            prime = false;
    out[n] = prime;
}

static u32 power_mod(u64 base, u64 exponent, u64 modulus)
{
    u64 result = 1;
    for (base %= modulus; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * base % modulus;
        base = base * base % modulus;
    }
    return (u32)result;
}
//! run modular_powers block=64 (u32[64]:bits, u32[64]:bits, u32[64])
kernel void modular_powers(const u32 *a, const u32 *b, u32 *out)
{
    out[thread_x()] = power_mod(a[thread_x()], b[thread_x()], 1000000007);
}

//! run binary_search block=64 (u32[64]:mod4096, u32[64])
kernel void binary_search(const u32 *in, u32 *out)
{
    u32 low = 0, high = 64, wanted = in[thread_x()];
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (middle * middle < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    out[thread_x()] = low;
}

//! run mandelbrot grid=2,2 block=8,8 (u32[256])
kernel block(8, 8) void mandelbrot(u32 *out)
{
    f32 cx = (f32)global_x() / 16 * 3 - 2, cy = (f32)global_y() / 16 * 2 - 1, x = 0, y = 0;
    u32 n = 0;
    for (; n < 100; n++) {
        f32 xx = x * x, yy = y * y;
        if (xx + yy > 4)
            break;
        y = 2 * x * y + cy;
        x = xx - yy + cx;
    }
    out[global_y() * 16 + global_x()] = n;
}

typedef struct complex {
    f32 re, im;
} complex;
static const f32 cosines[9] = {1,
                               0.98078528f,
                               0.923879533f,
                               0.831469612f,
                               0.707106781f,
                               0.555570233f,
                               0.382683432f,
                               0.195090322f,
                               0};
static complex root(u32 k) // e^(-2 pi i k / 32), k below 16
{
    complex r;
    r.re = k <= 8 ? cosines[k] : -cosines[16 - k];
    r.im = k <= 8 ? -cosines[8 - k] : -cosines[k - 8];
    return r;
}
//! run fft_32 block=16 (complex[32]:unit@f32)
kernel block(16) void fft_32(complex *a)
{
    shared complex s[32];
    u32 t = thread_x();
    for (u32 k = t; k < 32; k += 16)
        s[reverse_bits(k) >> 27] = a[k];
    for (u32 half = 1; half < 32; half *= 2) {
        barrier();
        u32 i = t / half * half * 2 + t % half;
        complex w = root(t % half * (16 / half)), lo = s[i], hi = s[i + half];
        complex p = {w.re * hi.re - w.im * hi.im, w.re * hi.im + w.im * hi.re};
        s[i] = (complex){lo.re + p.re, lo.im + p.im};
        s[i + half] = (complex){lo.re - p.re, lo.im - p.im};
    }
    barrier();
    for (u32 k = t; k < 32; k += 16)
        a[k] = s[k];
}

//! run heap_sort block=8 (i32[256]:bits)
kernel void heap_sort(i32 *all)
{
    i32 a[32];
    for (i32 i = 0; i < 32; i++)
        a[i] = all[32 * (i32)thread_x() + i];
    for (i32 end = 31, start = 15; end > 0;) {
        i32 at;
        if (start >= 0) {
            at = start--;
        } else {
            i32 t = a[end];
            a[end--] = a[0];
            a[0] = t;
            at = 0;
        }
        for (i32 child; (child = 2 * at + 1) <= end; at = child) {
            if (child < end && a[child] < a[child + 1])
                child++;
            if (a[at] >= a[child])
                break;
            i32 t = a[at];
            a[at] = a[child];
            a[child] = t;
        }
    }
    for (i32 i = 0; i < 32; i++)
        all[32 * (i32)thread_x() + i] = a[i];
}

//! run queens block=8 (u32[8])
kernel void queens(u32 *out)
{
    i32 place[8];
    u32 found = 0;
    i32 row = 1;
    place[0] = (i32)thread_x();
    place[1] = -1;
    while (row > 0) {
        place[row]++;
        if (place[row] == 8) {
            row--;
            continue;
        }
        bool safe = true;
        for (i32 k = 0; k < row && safe; k++) {
            i32 d = place[row] - place[k];
            safe = d != 0 && d != row - k && d != k - row;
        }
        if (!safe)
            continue;
        if (row == 7)
            found++;
        else
            place[++row] = -1;
    }
    out[thread_x()] = found;
}

//! run quantise block=32 (f32[256]:rand, u32[64], f32[32], f32[256])
kernel void quantise(const f32 *in, u32 *packed, f32 *scales, f32 *back)
{
    const f32 *row = in + 8 * thread_x();
    f32 top = 0;
    for (u32 i = 0; i < 8; i++)
        top = max(top, fabs(row[i]));
    f32 scale = top / 7, inverse = scale > 0 ? 1 / scale : 0;
    u32 word = 0;
    for (u32 i = 0; i < 8; i++)
        word = pack_i4(word, i, (i32)rint(row[i] * inverse));
    packed[thread_x()] = word;
    packed[32 + thread_x()] = (u32)dot4_i8(word, word, 0);
    scales[thread_x()] = scale;
    for (u32 i = 0; i < 8; i++)
        back[8 * thread_x() + i] = (f32)unpack_i4(word, i) * scale;
}

//! run attention_row block=16 (f32[64]:unit, f32[256]:unit, f32[256]:unit, f32[64])
kernel block(16) void attention_row(const f32 *q, const f32 *k, const f32 *v, f32 *out)
{
    f32 best = -INFINITY, sum = 0, acc[4] = {0, 0, 0, 0};
    const f32 *mine = q + 4 * thread_x();
    for (u32 j = 0; j < 64; j++) {
        f32 score = 0;
        for (u32 d = 0; d < 4; d++)
            score = fma(mine[d], k[4 * j + d], score);
        f32 top = max(best, score), fade = best == top ? 1 : 1 / (1 + (top - best)),
            weight = 1 / (1 + (top - score));
        sum = sum * fade + weight;
        for (u32 d = 0; d < 4; d++)
            acc[d] = acc[d] * fade + weight * v[4 * j + d];
        best = top;
    }
    for (u32 d = 0; d < 4; d++)
        out[4 * thread_x() + d] = acc[d] / sum;
}
