// Coroutines as automata. All run on one stack; a state of a coroutine is the part of the stack
// that it uses, so equal states are found as equal bytes. A coroutine sees nothing but what it is
// given: so each pair of state and answer is run once, and what comes of it is kept.
#include <stdlib.h>
#include <string.h>

#include "tests/model/model.h"
#include "tests/model/store.h"

enum { STACK_BYTES = 16384 };
static _Alignas(64) unsigned char stack[STACK_BYTES];
#define STACK_END (stack + STACK_BYTES - 64) // behind it: the argument

static void *of_thread, *of_checker; // stack pointers
static model_op asked;
static uint64_t given;

#ifdef __x86_64__
void model_switch(void **save, void *to);
void model_enter(void);
__asm__(".text\n"
        ".p2align 4\n"
        ".globl model_switch\n"
        ".type model_switch, @function\n"
        "model_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".globl model_enter\n"
        ".type model_enter, @function\n"
        "model_enter:\n" // r12: the argument, r13: the function
        "    mov %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n");
#else
#    error "the model checker switches stacks by hand, on x86-64 alone"
#endif

static store states;                    // model_op, then the bytes of the stack
static store edges;                     // {state, answer}
static uint32_t *next_of, next_cap = 0; // by the number of the edge

uint32_t model_lane(void)
{
    uintptr_t user;
    memcpy(&user, STACK_END, sizeof user);
    return (uint32_t)user;
}

uint64_t model_ask(uint8_t kind, const void *word, uint64_t value, uint8_t order, bool is_system)
{
    memset(&asked, 0, sizeof asked);
    asked.kind = kind;
    asked.order = order;
    asked.is_system = is_system;
    asked.value = value;
    if (word && !model_where(word, &asked.box, &asked.at)) {
        asked.kind = OP_RESULT;
        asked.order = 1;
        asked.value = FOUND_WILD;
    }
    model_switch(&of_thread, of_checker);
    return given;
}

// The coroutine runs until it asks.
static uint32_t run_on(void)
{
    unsigned char buffer[sizeof(model_op) + STACK_BYTES];
    model_switch(&of_checker, of_thread);
    size_t bytes = (size_t)(stack + STACK_BYTES - (unsigned char *)of_thread);
    memcpy(buffer, &asked, sizeof asked);
    memcpy(buffer + sizeof asked, of_thread, bytes);
    return store_put(&states, buffer, sizeof asked + bytes, NULL);
}

uint32_t thread_start(void (*run)(void *), void *user)
{
    uintptr_t *at = (void *)STACK_END;
    memset(stack, 0, sizeof stack);
    at[0] = (uintptr_t)user;
    at -= 2;
    *--at = (uintptr_t)model_enter;
    at -= 6; // r15 r14 r13 r12 rbx rbp
    at[2] = (uintptr_t)run;
    at[3] = (uintptr_t)user;
    of_thread = at;
    return run_on();
}

uint32_t thread_step(uint32_t state, uint64_t answer)
{
    uint64_t key[2] = {state, answer};
    bool is_new;
    uint32_t edge = store_put(&edges, key, sizeof key, &is_new);
    if (!is_new)
        return next_of[edge];
    if (edge >= next_cap) {
        next_cap = next_cap ? next_cap * 2 : 1024;
        next_of = realloc(next_of, next_cap * sizeof *next_of);
        if (!next_of)
            abort();
    }
    size_t bytes;
    const unsigned char *kept = store_get(&states, state, &bytes);
    bytes -= sizeof(model_op);
    of_thread = stack + STACK_BYTES - bytes;
    memset(stack, 0, STACK_BYTES - bytes); // what earlier calls left there must not count
    memcpy(of_thread, kept + sizeof(model_op), bytes);
    given = answer;
    return next_of[edge] = run_on();
}

const model_op *thread_op(uint32_t state)
{
    size_t bytes;
    return (const void *)store_get(&states, state, &bytes);
}

uint32_t thread_states(void)
{
    return states.count;
}

void thread_forget(void)
{
    store_free(&states);
    store_free(&edges);
    free(next_of);
    next_of = NULL;
    next_cap = 0;
}
