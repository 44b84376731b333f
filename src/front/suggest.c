// "Did you mean": the nearest visible name, and what other GPU languages call the same thing.
#include <stdlib.h>

#include "base/embed.h"
#include "front/check.h"

// --- near names

static void consider(const char *candidate, str name, const char **best, unsigned *best_distance)
{
    if (!candidate)
        return;
    str other = str_of(candidate);
    size_t gap = other.len > name.len ? other.len - name.len : name.len - other.len;
    if (gap >= *best_distance)
        return;
    unsigned distance = str_distance(name, other, *best_distance);
    if (distance && distance < *best_distance) {
        *best = candidate;
        *best_distance = distance;
    }
}

const char *front_suggest(front *f, const scope *s, const char *name)
{
    str wanted = str_of(name);
    const char *best = NULL;
    // About a third of the letters may differ; a name of one or two letters has no near ones.
    unsigned best_distance = wanted.len <= 2 ? 0 : wanted.len <= 4 ? 2 : wanted.len <= 7 ? 3 : 4;
    for (s = s ? s : f->file_scope; s; s = s->outer)
        for (uint32_t i = 0; i < s->names.len; i++) {
            const ast_decl *d = (const ast_decl *)(uintptr_t)s->names.entries[i].value;
            if (d->kind != DECL_TYPEDEF && !d->is_host_only)
                consider(d->name, wanted, &best, &best_distance);
        }
    for (uint32_t i = 0; builtin_name_at(i); i++)
        consider(builtin_name_at(i), wanted, &best, &best_distance);
    return best;
}

// --- other languages
// $1 $2 … are the arguments' source texts, $d1 is x, y or z for a constant 0, 1 or 2, $m the
// member.

// clang-format off
static const foreign_name foreign_names[] = {
    {"__ballot_sync", "warp_ballot($2)", NULL},
    {"__ballot", "warp_ballot($1)", NULL},
    {"__all_sync", "warp_all($2)", NULL},
    {"__any_sync", "warp_any($2)", NULL},
    {"__activemask", "warp_active()", NULL},
    {"__brev", "reverse_bits($1)", NULL},
    {"__clz", "leading_zeros($1)", NULL},
    {"__clzll", "leading_zeros($1)", NULL},
    {"__expf", "fast_exp($1)", NULL},
    {"__fdividef", "fast_div($1, $2)", NULL},
    {"__float_as_int", "bits_f32($1)", NULL},
    {"__float_as_uint", "bits_f32($1)", NULL},
    {"__float2half", "to_f16($1)", NULL},
    {"__float2bfloat16", "to_bf16($1)", NULL},
    {"__fmaf_rn", "fma($1, $2, $3)", NULL},
    {"__frcp_rn", "1.0f / ($1)", NULL},
    {"__fsqrt_rn", "sqrt($1)", NULL},
    {"__half2float", "f32($1)", NULL},
    {"__bfloat162float", "f32($1)", NULL},
    {"__int_as_float", "f32_from_bits($1)", NULL},
    {"__uint_as_float", "f32_from_bits($1)", NULL},
    {"__ldg", "load_readonly($1)", NULL},
    {"__ldcs", "load_stream($1)", NULL},
    {"__logf", "fast_log($1)", NULL},
    {"__nanosleep", "nano_sleep($1)", NULL},
    {"__popc", "popcount($1)", NULL},
    {"__popcll", "popcount($1)", NULL},
    {"__powf", "fast_pow($1, $2)", NULL},
    {"__shfl_sync", "shuffle($2, $3)", NULL},
    {"__shfl_up_sync", "shuffle_up($2, $3)", NULL},
    {"__shfl_down_sync", "shuffle_down($2, $3)", NULL},
    {"__shfl_xor_sync", "shuffle_xor($2, $3)", NULL},
    {"__shfl", "shuffle($1, $2)", NULL},
    {"__shfl_up", "shuffle_up($1, $2)", NULL},
    {"__shfl_down", "shuffle_down($1, $2)", NULL},
    {"__shfl_xor", "shuffle_xor($1, $2)", NULL},
    {"__sinf", "fast_sin($1)", NULL},
    {"__cosf", "fast_cos($1)", NULL},
    {"__syncthreads", "barrier()", NULL},
    {"__syncwarp", "warp_sync()", NULL},
    {"__threadfence", "fence_device()", NULL},
    {"__threadfence_block", "fence_block()", NULL},
    {"__threadfence_system", "fence_system()", NULL},
    {"__trap", "trap()", NULL},
    {"__dp4a", "dot4_i8($1, $2, $3)", NULL},
    {"__byte_perm", "permute_bytes($1, $2, $3)", NULL},
    {"__mulhi", "mul_high($1, $2)", NULL},
    {"__umulhi", "mul_high($1, $2)", NULL},
    {"atomicAdd", "atomic_add($1, $2)", NULL},
    {"atomicSub", "atomic_sub($1, $2)", NULL},
    {"atomicMin", "atomic_min($1, $2)", NULL},
    {"atomicMax", "atomic_max($1, $2)", NULL},
    {"atomicAnd", "atomic_and($1, $2)", NULL},
    {"atomicOr", "atomic_or($1, $2)", NULL},
    {"atomicXor", "atomic_xor($1, $2)", NULL},
    {"atomicExch", "atomic_swap($1, $2)", NULL},
    {"atomicCAS", "atomic_cas($1, $2, $3)", NULL},
    {"atomic_inc", "atomic_add($1, 1)", NULL},
    {"atomic_dec", "atomic_sub($1, 1)", NULL},
    {"atomic_xchg", "atomic_swap($1, $2)", NULL},
    {"atomic_cmpxchg", "atomic_cas($1, $2, $3)", NULL},
    {"atomic_exchange", "atomic_swap($1, $2)", NULL},
    {"InterlockedAdd", "atomic_add($1, $2)", NULL},
    {"GroupMemoryBarrierWithGroupSync", "barrier()", NULL},
    {"WaveActiveSum", "warp_sum($1)", NULL},
    {"WaveActiveMax", "warp_max($1)", NULL},
    {"WaveActiveMin", "warp_min($1)", NULL},
    {"WaveGetLaneIndex", "lane()", NULL},
    {"WaveReadLaneAt", "shuffle($1, $2)", NULL},
    {"workgroupBarrier", "barrier()", NULL},
    {"get_global_id", "global_$d1()", NULL},
    {"get_local_id", "thread_$d1()", NULL},
    {"get_group_id", "block_$d1()", NULL},
    {"get_local_size", "block_dim_$d1()", NULL},
    {"get_num_groups", "grid_dim_$d1()", NULL},
    {"get_sub_group_local_id", "lane()", NULL},
    {"sub_group_reduce_add", "warp_sum($1)", NULL},
    {"mad", "fma($1, $2, $3)", NULL},
    {"native_exp", "fast_exp($1)", NULL},
    {"native_rsqrt", "fast_rsqrt($1)", NULL},
    {"clz", "leading_zeros($1)", NULL},
    {"cross", "vec_cross($1, $2)", NULL},
    {"distance", "vec_distance($1, $2)", NULL},
    {"dot", "vec_dot($1, $2)", NULL},
    {"length", "vec_length($1)", NULL},
    {"normalize", "vec_normalize($1)", NULL},
    {"ctz", "trailing_zeros($1)", NULL},
    {"clock64", "clock_cycles()", NULL},
    {"clock", "clock_cycles()", NULL},
    {"isnanf", "isnan($1)", NULL},
    {"asuint", "bits_f32($1)", NULL},
    {"asfloat", "f32_from_bits($1)", NULL},
    {"as_uint", "bits_f32($1)", NULL},
    {"as_float", "f32_from_bits($1)", NULL},
    {"threadIdx", "thread_$m()", "xyz"},
    {"blockIdx", "block_$m()", "xyz"},
    {"blockDim", "block_dim_$m()", "xyz"},
    {"gridDim", "grid_dim_$m()", "xyz"},
    {"gl_GlobalInvocationID", "global_$m()", "xyz"},
    {"gl_LocalInvocationID", "thread_$m()", "xyz"},
    {"gl_WorkGroupID", "block_$m()", "xyz"},
    {"gl_WorkGroupSize", "block_dim_$m()", "xyz"},
    {"gl_NumWorkGroups", "grid_dim_$m()", "xyz"},
    {"gl_LocalInvocationIndex", "thread_rank()", NULL},
    {"gl_SubgroupInvocationID", "lane()", NULL},
    {"SV_DispatchThreadID", "global_$m()", "xyz"},
    {"SV_GroupThreadID", "thread_$m()", "xyz"},
    {"SV_GroupID", "block_$m()", "xyz"},
    {"thread_position_in_grid", "global_x()", NULL},
    {"warpSize", "32", NULL},
    {"nullptr", "NULL", NULL},
    {"saturate", "clamp($1, 0.0f, 1.0f)", NULL},
    {"mix", "($1 + (($2) - ($1)) * ($3))", NULL},
    {"lerp", "($1 + (($2) - ($1)) * ($3))", NULL},
};
// clang-format on

// Functions of lib/libc: the header of C that brings what a text defines.
static const struct {
    const char *text, *header;
} library_texts[] = {
    {"string.h", "string.h"}, {"strings.h", "strings.h"}, {"ctype.h", "ctype.h"},
    {"stdlib.h", "stdlib.h"}, {"heap.h", "stdlib.h"},     {"number.h", "stdlib.h"},
    {"stdio.h", "stdio.h"},   {"print.h", "stdio.h"},     {"stream.h", "stdio.h"},
    {"math.h", "math.h"},     {"time.h", "time.h"},       {"inttypes.h", "inttypes.h"},
    {"stdarg.h", "stdarg.h"},
};

// C's library that a kernel does not have, and what to do instead.
static const struct {
    const char *names, *advice;
} absent_functions[] = {
    {" alloca ",
     "a kernel has no memory of variable size on its stack: use an array of constant length, or "
     "malloc of <stdlib.h>"},
    {" tmpnam freopen gets popen dprintf fileno mkstemp ",
     "a kernel has fopen, fgets and their like, by permission (<stdio.h>)"},
    {" setjmp longjmp _setjmp _longjmp sigsetjmp siglongjmp jmp_buf sigjmp_buf ",
     "a kernel cannot leave a function by setjmp and longjmp: its calls are inlined; return a "
     "status, "
     "or end the program with exit"},
    {" return_address frame_address extract_return_addr apply ",
     "a kernel's calls are inlined: there is no stack to look at"},
    {" __sync_fetch_and_add __sync_add_and_fetch __sync_bool_compare_and_swap "
     "__sync_val_compare_and_swap __sync_lock_test_and_set __sync_synchronize __atomic_load_n "
     "__atomic_store_n __atomic_fetch_add __atomic_add_fetch __atomic_exchange_n "
     "__atomic_compare_exchange_n __atomic_thread_fence ",
     "atomic_add, atomic_swap, atomic_cas, atomic_load_at, atomic_store_at and fence_device of "
     "<kiln/kernel.h> do it on every device"},
    {" at_quick_exit raise signal ",
     "trap() stops a kernel with an error, assert() with a message, return ends one thread"},
    {" random srandom drand48 lrand48 ",
     "philox(counter, key) and pcg32_step(state, stream) give random numbers that do not depend on "
     "the order of threads; rand() of <stdlib.h> has a sequence for each thread"},
    {" gettimeofday sleep usleep ",
     "nano_time() and clock_cycles() read a clock, nano_sleep(ns) waits; <time.h> has the host's "
     "clocks"},
    {" gmtime gmtime_r localtime localtime_r mktime strftime asctime ctime ",
     "<time.h> has time, clock_gettime and difftime; the date is the program's to compute"},
    {" cudaTextureObject_t cudaSurfaceObject_t textureReference tex1D tex1Dfetch tex1DLod "
     "tex1DLayered tex2D tex2DLod tex2DGrad tex2DLayered tex2Dgather tex3D tex3DLod texCubemap "
     "surf1Dread surf1Dwrite surf2Dread surf2Dwrite surf3Dread surf3Dwrite read_imagef "
     "write_imagef image2d_t sampler_t ",
     "there are no textures: pass a buffer, clamp the coordinates and interpolate in the kernel"},
    {" curandState curandState_t curandStateXORWOW_t curandStatePhilox4_32_10_t curand_init curand "
     "curand4 curand_uniform curand_uniform4 curand_uniform_double curand_normal curand_normal2 ",
     "philox(counter, key) gives random words that do not depend on the order of threads; "
     "uniform_f32 and normal_f32 make numbers of them"},
    {" cudaDeviceSynchronize cudaMalloc cudaFree cudaMemcpy cudaMemcpyAsync cudaMemset ",
     "the host's work: kiln_sync, kiln_buffer_new and kiln_copy of <kiln/kiln.h>; in kernels "
     "malloc, free, memcpy and memset"},
    {" pthread_t pthread_mutex_t system fork exec execv execvp wait waitpid pthread_create "
     "pthread_join pthread_mutex_lock ",
     "a kernel starts no programs and threads: the launch says how many threads there are"},
    {" creal cimag cabs carg conj cexp csqrt cpow ",
     "there are no complex numbers: use two numbers, or a vector f32x2"},
    {" wchar_t wint_t char16_t char32_t wcslen wcscpy wcscmp wprintf mbstowcs wcstombs towupper "
     "towlower ",
     "there are no wide characters: text is char, in UTF-8"},
    {" getopt getopt_long ", "read argv yourself: strcmp and strtol of C's library are there"},
    {" secure_getenv setenv putenv unsetenv ",
     "getenv of <stdlib.h> reads a variable, by permission; a kernel changes none"},
    {" open close read write pread pwrite lseek stat fstat unlink mkdir rmdir socket connect "
     "accept listen send recv ",
     "<kiln/io.h> has functions for files and sockets, by permission: io_open, io_read …"},
};

// Whether a text defines a function or a macro of that name.
static bool defines(const char *source, size_t len, str name)
{
    for (const char *at = source, *end = source + len; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        bool is_macro = line_end - at > 8 && !memcmp(at, "#define ", 8);
        if (is_macro || (line_end - at > 7 && !memcmp(at, "static ", 7))) {
            const char *open = memchr(at, '(', (size_t)(line_end - at));
            const char *first = is_macro ? at + 8 : open ? open - name.len : at;
            if (open && first > at && first + name.len == open &&
                !memcmp(first, name.at, name.len) && (first[-1] == ' ' || first[-1] == '*'))
                return true;
        }
        at = line_end + 1;
    }
    return false;
}

const char *absent_find(front *f, const char *name)
{
    if (!strncmp(name, "__builtin_", 10))
        name += 10;
    const char *word = str_format(f->in, " %s ", name);
    for (size_t i = 0; i < COUNT(absent_functions); i++)
        if (strstr(absent_functions[i].names, word))
            return absent_functions[i].advice;
    for (size_t i = 0; i < COUNT(library_texts) && strncmp(name, "__", 2) != 0; i++) {
        size_t len;
        const char *source =
            embed_find(str_format(f->in, "lib/libc/%s", library_texts[i].text), &len);
        if (source && defines(source, len, str_of(name)))
            return str_format(f->in, "'#include <%s>' brings it", library_texts[i].header);
    }
    return NULL;
}

const foreign_name *foreign_find(const char *name)
{
    for (size_t i = 0; i < COUNT(foreign_names); i++) // only walked when an error is certain
        if (!strcmp(foreign_names[i].name, name))
            return &foreign_names[i];
    return NULL;
}

// Appends what `$…` at `at` stands for; returns the bytes read, 0 when it does not apply.
static size_t put_hole(front *f, text *out, const char *at, const ast_expr *call,
                       const char *member)
{
    if (at[1] == 'm') {
        if (!member || member[1] || !strchr("xyz", member[0]))
            return 0;
        text_puts(out, member);
        return 2;
    }
    bool is_axis = at[1] == 'd';
    uint32_t index = (uint32_t)(at[is_axis ? 2 : 1] - '1');
    if (!call || index >= call->args.len)
        return 0;
    const ast_expr *arg = call->args.at[index];
    if (is_axis) {
        if (arg->kind != E_INT || arg->integer > 2)
            return 0;
        text_putc(out, "xyz"[arg->integer]);
        return 3;
    }
    str spelled = source_text(f->sources, arg->at);
    text_add(out, spelled.at, spelled.len);
    return 2;
}

const char *foreign_text(front *f, const foreign_name *n, const ast_expr *call, const char *member)
{
    text out = {.in = f->in};
    for (const char *at = n->advice; *at;) {
        if (*at != '$') {
            text_putc(&out, *at++);
            continue;
        }
        size_t used = put_hole(f, &out, at, call, member);
        if (!used)
            return NULL;
        at += used;
    }
    return out.at;
}
