// A stack machine: an assembler with labels, a table of functions, a program in text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 64, CODE = 128, LABELS = 16 };
typedef long cell;
typedef struct machine {
    cell stack[STACK];
    int top, pc, steps;
    cell memory[32];
} machine;
typedef struct instruction {
    const char *name;
    int has_operand;
    void (*run)(machine *m, cell operand);
} instruction;

static cell pop(machine *m)
{
    if (m->top == 0) {
        fprintf(stderr, "the stack is empty\n");
        exit(4);
    }
    return m->stack[--m->top];
}
static void push(machine *m, cell x)
{
    m->stack[m->top++] = x;
}
static void do_push(machine *m, cell x)
{
    push(m, x);
}
static void do_add(machine *m, cell x)
{
    (void)x;
    cell b = pop(m), a = pop(m);
    push(m, a + b);
}
static void do_sub(machine *m, cell x)
{
    (void)x;
    cell b = pop(m), a = pop(m);
    push(m, a - b);
}
static void do_mul(machine *m, cell x)
{
    (void)x;
    cell b = pop(m), a = pop(m);
    push(m, a * b);
}
static void do_mod(machine *m, cell x)
{
    (void)x;
    cell b = pop(m), a = pop(m);
    push(m, b ? a % b : 0);
}
static void do_dup(machine *m, cell x)
{
    (void)x;
    cell a = pop(m);
    push(m, a);
    push(m, a);
}
static void do_load(machine *m, cell x)
{
    push(m, m->memory[x & 31]);
}
static void do_store(machine *m, cell x)
{
    m->memory[x & 31] = pop(m);
}
static void do_jump(machine *m, cell x)
{
    m->pc = (int)x;
}
static void do_zero(machine *m, cell x)
{
    if (pop(m) == 0)
        m->pc = (int)x;
}
static void do_print(machine *m, cell x)
{
    (void)x;
    printf("%ld ", pop(m));
}
static void do_halt(machine *m, cell x)
{
    (void)x;
    m->pc = -1;
}

static const instruction set[] = {
    {"push", 1, do_push}, {"add", 0, do_add},   {"sub", 0, do_sub},     {"mul", 0, do_mul},
    {"mod", 0, do_mod},   {"dup", 0, do_dup},   {"load", 1, do_load},   {"store", 1, do_store},
    {"jump", 1, do_jump}, {"zero", 1, do_zero}, {"print", 0, do_print}, {"halt", 0, do_halt},
};
static struct {
    unsigned char op;
    cell operand;
} code[CODE];
static struct {
    char name[12];
    int at;
} labels[LABELS];
static int size, label_count;

static int find_label(const char *name)
{
    for (int i = 0; i < label_count; i++)
        if (!strcmp(labels[i].name, name))
            return i;
    strncpy(labels[label_count].name, name, sizeof labels->name - 1);
    labels[label_count].at = -1;
    return label_count++;
}

static void assemble(char *source)
{
    for (char *word = strtok(source, " \n"); word; word = strtok(NULL, " \n")) {
        size_t length = strlen(word);
        if (word[length - 1] == ':') {
            word[length - 1] = 0;
            labels[find_label(word)].at = size;
            continue;
        }
        size_t op = 0;
        while (op < sizeof set / sizeof *set && strcmp(set[op].name, word))
            op++;
        if (op == sizeof set / sizeof *set) {
            printf("'%s' is no instruction\n", word);
            exit(5);
        }
        code[size].op = (unsigned char)op;
        if (set[op].has_operand) {
            char *operand = strtok(NULL, " \n"), *end;
            code[size].operand = strtol(operand, &end, 0);
            if (*end)
                code[size].operand = -1 - find_label(operand); // known later
        }
        size++;
    }
    for (int i = 0; i < size; i++)
        if (set[code[i].op].run == do_jump || set[code[i].op].run == do_zero)
            code[i].operand = labels[-1 - code[i].operand].at;
}

int main(void)
{
    static char source[] = "push 30 store 0 push 1 store 1\n"
                           "again: load 1 push 3 mod zero three load 1 print jump next\n"
                           "three: push 0 load 1 sub print\n"
                           "next: load 1 push 1 add dup store 1 load 0 sub zero done jump again\n"
                           "done: push 0x7f print halt";
    machine m = {.top = 0};
    assemble(source);
    printf("%d instructions, %d labels\n", size, label_count);
    while (m.pc >= 0 && m.pc < size && m.steps < 10000) {
        int now = m.pc++;
        set[code[now].op].run(&m, code[now].operand);
        m.steps++;
    }
    printf("\n%d steps, %d left\n", m.steps, m.top);
    return m.steps % 100;
}
