// The bytes of x86-64 instructions, beside what the GNU assembler makes of them, and the distances
// to labels and constants.
#include <string.h>

#include "back/x86/encode.h"
#include "tests/test.h"

typedef struct bytes {
    uint8_t len, at[12];
} bytes;

static void expect_bytes(x86_code *c, bytes want)
{
    assert_int_equal(c->bytes.len, want.len);
    assert_memory_equal(c->bytes.at, want.at, want.len);
    c->bytes.len = 0;
}

TEST(x86_vector_registers)
{
    x86_code c = {.a = arena_new()};
    x86_vec(&c, X86_VPADDD, 17, 3, x86_of_reg(30), (x86_opt){0});
    expect_bytes(&c, (bytes){6, {0x62, 0x81, 0x65, 0x48, 0xfe, 0xce}});
    x86_vec(&c, X86_VFMADD231PS, 0, 29, x86_of_reg(16), (x86_opt){0});
    expect_bytes(&c, (bytes){6, {0x62, 0xb2, 0x15, 0x40, 0xb8, 0xc0}});
    x86_vec(&c, X86_VCMPPS, 5, 28, x86_of_reg(3), (x86_opt){.has_imm = true, .imm = 17});
    expect_bytes(&c, (bytes){7, {0x62, 0xf1, 0x1c, 0x40, 0xc2, 0xeb, 0x11}});
    x86_vec(&c, X86_VPERMI2D, 30, 1, x86_of_reg(2), (x86_opt){0});
    expect_bytes(&c, (bytes){6, {0x62, 0x62, 0x75, 0x48, 0x76, 0xf2}});
    x86_vec(&c, X86_VEXTRACT, 2, 0, x86_of_reg(30), (x86_opt){.has_imm = true, .imm = 1});
    expect_bytes(&c, (bytes){7, {0x62, 0x93, 0xfd, 0x48, 0x3b, 0xd6, 0x01}});
    x86_vec(&c, X86_VPMOVQD, 29, 0, x86_of_reg(2), (x86_opt){0});
    expect_bytes(&c, (bytes){6, {0x62, 0x62, 0x7e, 0x48, 0x35, 0xea}});
    x86_vec(&c, X86_VPBROADCASTQ, 28, 0, x86_of_reg(R11), (x86_opt){0});
    expect_bytes(&c, (bytes){6, {0x62, 0x42, 0xfd, 0x48, 0x7c, 0xe3}});
    x86_vec(&c, X86_VCVTSI2SS, 28, 28, x86_of_reg(R10), (x86_opt){.length = 2, .wide = true});
    expect_bytes(&c, (bytes){6, {0x62, 0x41, 0x9e, 0x00, 0x2a, 0xe2}});
    arena_free(c.a);
}

TEST(x86_vector_memory)
{
    x86_code c = {.a = arena_new()};
    x86_vec(&c, X86_VPADDD, 1, 2, x86_of_mem(x86_at(RSP, 0x40)), (x86_opt){0});
    expect_bytes(&c, (bytes){8, {0x62, 0xf1, 0x6d, 0x48, 0xfe, 0x4c, 0x24, 0x01}});
    x86_vec(&c, X86_VPADDD, 1, 2, x86_of_mem(x86_at(RSP, 0x44)), (x86_opt){0});
    expect_bytes(&c, (bytes){11, {0x62, 0xf1, 0x6d, 0x48, 0xfe, 0x8c, 0x24, 0x44}});
    x86_src one = x86_of_mem(x86_at(R12, 0x10));
    one.is_broadcast = true;
    x86_vec(&c, X86_VPADDQ, 9, 20, one, (x86_opt){0});
    expect_bytes(&c, (bytes){8, {0x62, 0x51, 0xdd, 0x50, 0xd4, 0x4c, 0x24, 0x02}});
    x86_mem m = x86_at(R13, -0x40);
    m.index = R9;
    m.has_index = true;
    m.scale = 2;
    x86_vec(&c, X86_VMOVDQU32, 31, 0, x86_of_mem(m), (x86_opt){.k = 2, .zero = true});
    expect_bytes(&c, (bytes){8, {0x62, 0x01, 0x7e, 0xca, 0x6f, 0x7c, 0x8d, 0xff}});
    x86_vec(&c, X86_VMOVDQU32_S, 5, 0, x86_of_mem(x86_at(RDI, 0x80)), (x86_opt){.k = 1});
    expect_bytes(&c, (bytes){7, {0x62, 0xf1, 0x7e, 0x49, 0x7f, 0x6f, 0x02}});
    x86_vec(&c, X86_VMOVNTDQ, 30, 0, x86_of_mem(x86_at(R8, 0x40)), (x86_opt){0});
    expect_bytes(&c, (bytes){7, {0x62, 0x41, 0x7d, 0x48, 0xe7, 0x70, 0x01}});
    x86_vec_indexed(&c, X86_VPSCATTERQD, 20, (x86_mem){.disp = 8}, 19, 5);
    expect_bytes(&c, (bytes){11, {0x62, 0xe2, 0x7d, 0x45, 0xa1, 0x24, 0x1d, 0x08}});
    arena_free(c.a);
}

TEST(x86_words_and_masks)
{
    x86_code c = {.a = arena_new()};
    x86_k_from(&c, 5, R9);
    expect_bytes(&c, (bytes){5, {0xc4, 0xc1, 0x7b, 0x92, 0xe9}});
    x86_k_shift_right(&c, 2, 1, 16);
    expect_bytes(&c, (bytes){6, {0xc4, 0xe3, 0x79, 0x31, 0xd1, 0x10}});
    x86_andn(&c, RAX, RCX, R10);
    expect_bytes(&c, (bytes){5, {0xc4, 0xc2, 0x70, 0xf2, 0xc2}});
    x86_pdep(&c, RCX, RDX, RCX);
    expect_bytes(&c, (bytes){5, {0xc4, 0xe2, 0x6b, 0xf5, 0xc9}});
    x86_blsr(&c, RDX, RDX);
    expect_bytes(&c, (bytes){5, {0xc4, 0xe2, 0x68, 0xf3, 0xca}});
    x86_mov_imm(&c, RAX, 0x123456789abcdef0);
    expect_bytes(&c, (bytes){10, {0x48, 0xb8, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12}});
    x86_load(&c, 8, RDX, x86_at(RBX, 0x18));
    expect_bytes(&c, (bytes){4, {0x48, 0x8b, 0x53, 0x18}});
    x86_alu_imm(&c, ALU_SUB, true, RSP, 0x5c0);
    expect_bytes(&c, (bytes){7, {0x48, 0x81, 0xec, 0xc0, 0x05, 0x00, 0x00}});
    arena_free(c.a);
}

static int32_t word_at(const x86_code *c, uint32_t at)
{
    int32_t w;
    memcpy(&w, c->bytes.at + at, sizeof w);
    return w;
}

TEST(x86_labels_and_constants)
{
    arena *a = arena_new();
    x86_code c = {.a = a, .pool_index = map_make(a)};
    uint32_t back = x86_label(&c), forth = x86_label(&c), number = 7, other = 9;
    x86_bind(&c, back);
    x86_jump_if(&c, WHEN_ZERO, forth);                 // 0 to 6
    x86_load(&c, 4, RAX, x86_pool(&c, &number, 4, 4)); // 6 to 13
    x86_load(&c, 4, RCX, x86_pool(&c, &other, 4, 4));  // 13 to 20
    x86_load(&c, 4, RDX, x86_pool(&c, &number, 4, 4)); // 20 to 27
    x86_jump(&c, back);                                // 27 to 32
    x86_bind(&c, forth);
    x86_link(&c);
    assert_int_equal(c.bytes.len, 64 + 8);
    assert_int_equal(word_at(&c, 2), 32 - 6);
    assert_int_equal(word_at(&c, 9), 64 - 13);
    assert_int_equal(word_at(&c, 16), 68 - 20);
    assert_int_equal(word_at(&c, 23), 64 - 27);
    assert_int_equal(word_at(&c, 28), -32);
    assert_int_equal(word_at(&c, 64), 7);
    assert_int_equal(word_at(&c, 68), 9);
    arena_free(a);
}
