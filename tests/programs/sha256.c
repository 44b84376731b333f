// SHA-256 of the arguments and of standard input: shifts, tables, bytes of words.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROTATE(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static uint32_t k[64], state[8];
static uint8_t block[64];
static uint64_t total;
static unsigned filled;

// The tables are the first bits of roots of primes: computed with integers.
static uint32_t root_bits(unsigned prime, int is_cube)
{
    uint64_t low = 0, high = (uint64_t)1 << 36; // root * 2^32
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        // mid^2 or mid^3 against prime * 2^64 or 2^96, in pieces of 32 bits
        uint64_t a = mid >> 32, b = mid & 0xffffffff;
        uint64_t p[6] = {b * b, 0, 0, 0, 0, 0};
        uint64_t mix = 2 * a * b;
        uint64_t lo = p[0] & 0xffffffff, mid1 = (p[0] >> 32) + (mix & 0xffffffff);
        uint64_t hi = a * a + (mix >> 32) + (mid1 >> 32);
        mid1 &= 0xffffffff;
        uint64_t whole;
        if (is_cube) {
            uint64_t t0 = lo * b, t1 = mid1 * b + lo * a + (t0 >> 32);
            uint64_t t2 = hi * b + mid1 * a + (t1 >> 32);
            whole = hi * a + (t2 >> 32);
        } else {
            whole = hi;
        }
        if (whole >= prime)
            high = mid;
        else
            low = mid;
    }
    return (uint32_t)low;
}

static void begin(void)
{
    unsigned count = 0;
    for (unsigned n = 2; count < 64; n++) {
        int is_prime = 1;
        for (unsigned d = 2; d * d <= n && is_prime; d++)
            is_prime = n % d != 0;
        if (!is_prime)
            continue;
        k[count] = root_bits(n, 1);
        if (count < 8)
            state[count] = root_bits(n, 0);
        count++;
    }
    total = filled = 0;
}

static void mix(void)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (ROTATE(a, 7) ^ ROTATE(a, 18) ^ a >> 3) + w[i - 7] +
               (ROTATE(b, 17) ^ ROTATE(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void add(const void *data, size_t bytes)
{
    const uint8_t *from = data;
    for (total += bytes; bytes--;) {
        block[filled++] = *from++;
        if (filled == sizeof block)
            mix(), filled = 0;
    }
}

static void end(const char *name)
{
    uint64_t bits = total * 8;
    static const uint8_t one = 0x80, zero = 0;
    add(&one, 1);
    while (filled != 56)
        add(&zero, 1);
    for (int i = 7; i >= 0; i--) {
        uint8_t byte = (uint8_t)(bits >> 8 * i);
        add(&byte, 1);
    }
    for (int i = 0; i < 8; i++)
        printf("%08x", state[i]);
    printf("  %s\n", name);
}

int main(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        begin();
        add(argv[i], strlen(argv[i]));
        end(argv[i]);
    }
    char line[50];
    begin();
    while (fgets(line, sizeof line, stdin))
        add(line, strlen(line));
    end("-");
    return 0;
}
