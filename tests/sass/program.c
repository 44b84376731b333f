// PTX into a program: ptxas makes a cubin, nvdisasm its text, the text becomes instructions. Start
// reading at sass_assemble.
#include "sass.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct reader {
    sass_program *p;
    char *error;
    size_t error_size;
    uint32_t section; // whose text this is
    struct mark {     // .L_x_1 and names of functions
        char name[200];
        uint32_t address, section;
    } * marks;
    uint32_t mark_count;
    struct fixup {
        uint32_t inst, operand, section;
        char name[200];
    } * fixups;
    uint32_t fixup_count;
} reader;

static bool fail(reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error, r->error_size, format, args);
    va_end(args);
    return false;
}

static void *grow(void *items, uint32_t count, size_t size)
{
    if (count & (count - 1)) // room for the next power of two
        return items;
    void *more = realloc(items, (count ? 2u * count : 1) * size);
    if (!more)
        abort();
    return more;
}

// --- files

static char *read_all(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    fseek(in, 0, SEEK_END);
    long size = ftell(in);
    rewind(in);
    char *data = malloc((size_t)size + 1);
    if (data && fread(data, 1, (size_t)size, in) != (size_t)size) {
        free(data);
        data = NULL;
    }
    fclose(in);
    if (data)
        data[size] = 0;
    *bytes = (size_t)size;
    return data;
}

// --- sections of the cubin

static bool read_elf(reader *r, const char *elf, size_t size)
{
    const Elf64_Ehdr *head = (const void *)elf;
    if (size < sizeof *head || memcmp(elf, ELFMAG, SELFMAG) != 0)
        return fail(r, "ptxas made no ELF file");
    const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
    const char *names = elf + sections[head->e_shstrndx].sh_offset;
    sass_program *p = r->p;
    p->section_count = head->e_shnum;
    p->sections = calloc(head->e_shnum, sizeof *p->sections);
    uint32_t at = SASS_TEXT;
    for (uint32_t s = 0; s < head->e_shnum; s++) {
        sass_section *to = &p->sections[s];
        snprintf(to->name, sizeof to->name, "%s", names + sections[s].sh_name);
        to->bytes = (uint32_t)sections[s].sh_size;
        if (!strncmp(to->name, ".text.", 6)) {
            to->at = at;
            at += (to->bytes + 255) & ~255u;
        } else if (!strncmp(to->name, ".nv.constant", 12) || !strncmp(to->name, ".nv.global", 10)) {
            to->data = calloc(1, to->bytes + 16u);
            if (sections[s].sh_type != SHT_NOBITS)
                memcpy(to->data, elf + sections[s].sh_offset, to->bytes);
        }
    }
    for (uint32_t s = 0; s < head->e_shnum; s++) {
        if (sections[s].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(elf + sections[s].sh_offset);
        const char *strings = elf + sections[sections[s].sh_link].sh_offset;
        p->symbol_count = (uint32_t)(sections[s].sh_size / sizeof *symbols);
        p->symbols = calloc(p->symbol_count, sizeof *p->symbols);
        for (uint32_t n = 0; n < p->symbol_count; n++) {
            snprintf(p->symbols[n].name, sizeof p->symbols[n].name, "%s",
                     strings + symbols[n].st_name);
            p->symbols[n].section = symbols[n].st_shndx;
            p->symbols[n].value = symbols[n].st_value;
            p->symbols[n].bytes = symbols[n].st_size;
        }
    }
    return true;
}

const sass_section *sass_find(const sass_program *p, const char *name)
{
    for (uint32_t s = 0; s < p->section_count; s++)
        if (!strcmp(p->sections[s].name, name))
            return &p->sections[s];
    return NULL;
}

// Of a symbol: code is where the program has it, variables are host memory.
static bool symbol_address(const sass_program *p, const char *name, uint64_t *address)
{
    for (uint32_t n = 0; n < p->symbol_count; n++) {
        if (strcmp(p->symbols[n].name, name) != 0 || p->symbols[n].section >= p->section_count)
            continue;
        const sass_section *s = &p->sections[p->symbols[n].section];
        *address = p->symbols[n].value + (s->data ? (uint64_t)(uintptr_t)s->data : s->at);
        return s->data || s->at;
    }
    return false;
}

static bool relocate(reader *r, const char *elf)
{
    const Elf64_Ehdr *head = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
    for (uint32_t s = 0; s < head->e_shnum; s++) {
        bool has_addend = sections[s].sh_type == SHT_RELA;
        if ((!has_addend && sections[s].sh_type != SHT_REL) ||
            sections[s].sh_info >= r->p->section_count)
            continue;
        sass_section *to = &r->p->sections[sections[s].sh_info];
        if (!to->data)
            continue; // nvdisasm tells those of code
        size_t each = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (size_t at = 0; at + each <= sections[s].sh_size; at += each) {
            Elf64_Rela rela = {0};
            memcpy(&rela, elf + sections[s].sh_offset + at, each);
            uint32_t symbol = (uint32_t)(rela.r_info >> 32);
            uint64_t address;
            if (symbol >= r->p->symbol_count ||
                !symbol_address(r->p, r->p->symbols[symbol].name, &address))
                return fail(r, "a relocation of %s is not known", to->name);
            address += (uint64_t)rela.r_addend;
            memcpy(to->data + rela.r_offset, &address, 8);
        }
    }
    return true;
}

// --- operands

static bool is_number_register(const char *text, const char *prefix, int *index)
{
    size_t len = strlen(prefix);
    char *end;
    if (strncmp(text, prefix, len) != 0 || text[len] < '0' || text[len] > '9')
        return false;
    *index = (int)strtol(text + len, &end, 10);
    return !*end;
}

static bool read_register(const char *text, sass_operand *o)
{
    if (!strcmp(text, "RZ") || !strcmp(text, "SRZ"))
        return o->kind = SASS_REG, o->index = SASS_REG_ZERO, true;
    if (!strcmp(text, "URZ"))
        return o->kind = SASS_UREG, o->index = SASS_UREG_ZERO, true;
    if (!strcmp(text, "PT") || !strcmp(text, "UPT"))
        return o->kind = SASS_PRED, o->is_uniform = *text == 'U', o->index = SASS_ALWAYS, true;
    if (is_number_register(text, "R", &o->index))
        return o->kind = SASS_REG, true;
    if (is_number_register(text, "UR", &o->index))
        return o->kind = SASS_UREG, true;
    if (is_number_register(text, "P", &o->index))
        return o->kind = SASS_PRED, true;
    if (is_number_register(text, "UP", &o->index))
        return o->kind = SASS_PRED, o->is_uniform = true, true;
    if (is_number_register(text, "B", &o->index))
        return o->kind = SASS_BARRIER, true;
    return false;
}

// "R2.64+UR4+0x10" of an address, "R2+0x210" of a bank
static bool read_address(reader *r, char *text, sass_operand *o)
{
    o->base = o->ubase = -1;
    char *save = NULL;
    for (char *part = strtok_r(text, "+", &save); part; part = strtok_r(NULL, "+", &save)) {
        sass_operand one = {0};
        char *suffix = strchr(part, '.');
        bool is_negative = *part == '-';
        if (suffix)
            *suffix = 0;
        if (read_register(part, &one) && (one.kind == SASS_REG || one.kind == SASS_UREG)) {
            *(one.kind == SASS_REG ? &o->base : &o->ubase) = one.index;
            if (suffix && !strcmp(suffix + 1, "64"))
                o->is_wide |= one.kind == SASS_REG;
            else if (suffix && suffix[1] == 'X')
                o->scale = (uint8_t)atoi(suffix + 2);
            else if (suffix && strcmp(suffix + 1, "reuse") != 0 && strcmp(suffix + 1, "U32") != 0)
                return fail(r, "an address with %s", suffix + 1);
        } else if (!strncmp(part + is_negative, "0x", 2)) {
            int64_t value = (int64_t)strtoull(part + is_negative, NULL, 16);
            o->value += is_negative ? -value : value;
        } else
            return fail(r, "an address with %s", part);
    }
    return true;
}

static bool read_operand(reader *r, char *text, sass_inst *i)
{
    if (i->operand_count == 12)
        return fail(r, "too many operands");
    sass_operand *o = &i->operands[i->operand_count++];
    o->base = o->ubase = -1;
    char whole[200];
    snprintf(whole, sizeof whole, "%s", text);
    for (;; text++)
        if (*text == '-' && !(text[1] >= '0' && text[1] <= '9'))
            o->is_negative = !o->is_negative;
        else if (*text == '~' || *text == '!')
            o->is_inverted = true;
        else if (*text != '+')
            break;
    if (*text == '|') {
        o->is_absolute = true;
        char *end = strchr(++text, '|');
        if (!end)
            return fail(r, "operand %s", whole);
        memmove(end, end + 1, strlen(end));
    }
    if (*text == '`' || !strncmp(text, "32@", 3)) {
        o->kind = SASS_LABEL;
        r->fixups = grow(r->fixups, r->fixup_count, sizeof *r->fixups);
        struct fixup *f = &r->fixups[r->fixup_count++];
        f->inst = r->p->inst_count;
        f->operand = i->operand_count - 1u;
        f->section = r->section;
        snprintf(f->name, sizeof f->name, "%s", text);
        return true;
    }
    if (!strncmp(text, "c[", 2)) {
        o->kind = SASS_BANK;
        char *end, *inner = text + 2;
        o->index = (int)strtol(inner, &end, 16);
        if (strncmp(end, "][", 2) != 0 || !strchr(end + 2, ']'))
            return fail(r, "operand %s", whole);
        inner = end + 2;
        char *close = strchr(inner, ']');
        *close = 0;
        if (!strcmp(close + 1, ".H1_H1") || !strcmp(close + 1, ".H0_H0"))
            o->part = (uint8_t)(1 + (close[3] == '1'));
        else if (close[1])
            return fail(r, "operand %s", whole);
        return read_address(r, inner, o);
    }
    char *open = !strncmp(text, "desc[", 5) ? strchr(text + 5, '[') : *text == '[' ? text : NULL;
    if (open) {
        char *close = strchr(open, ']');
        if (!close || close[1])
            return fail(r, "operand %s", whole);
        *close = 0;
        o->kind = SASS_MEMORY;
        return read_address(r, open + 1, o);
    }
    if (!strcmp(text, "INF") || !strcmp(text, "QNAN") || !strcmp(text, "SNAN")) {
        o->kind = SASS_NUMBER;
        o->is_decimal = true;
        return true;
    }
    char *end;
    bool is_minus = *text == '-';
    if (!strncmp(text + is_minus, "0x", 2)) {
        o->kind = SASS_NUMBER;
        o->value = (int64_t)strtoull(text + is_minus, &end, 16);
        o->value = is_minus ? -o->value : o->value;
        return *end ? fail(r, "operand %s", whole) : true;
    }
    if ((text[is_minus] >= '0' && text[is_minus] <= '9') || text[is_minus] == '.') {
        o->kind = SASS_NUMBER;
        o->is_decimal = true;
        strtod(text, &end);
        return *end ? fail(r, "operand %s", whole) : true;
    }
    if (!strncmp(text, "SR_", 3) || !strcmp(text, "PR") || !strcmp(text, "UPR")) {
        o->kind = SASS_SPECIAL;
        snprintf(o->name, sizeof o->name, "%s", text);
        return true;
    }
    for (char *suffix; (suffix = strrchr(text, '.')); *suffix = 0) {
        static const char *const parts[] = {"H0_H0", "H1_H1", "B0", "B1", "B2", "B3", "H0", "H1"};
        bool is_known = !strcmp(suffix + 1, "reuse");
        for (uint8_t n = 0; n < 8; n++)
            if (!strcmp(suffix + 1, parts[n]))
                o->part = n % 6 + 1, is_known = true;
        if (!strcmp(suffix + 1, "64"))
            o->is_wide = is_known = true;
        if (!is_known)
            return fail(r, "operand %s", whole);
    }
    return read_register(text, o) || fail(r, "operand %s", whole);
}

// --- instructions

static bool read_opcode(reader *r, char *text, sass_inst *i)
{
    static const char *const names[] = {
#define M(name) #name,
        SASS_MODS(M)
#undef M
    };
    char *save = NULL;
    char *base = strtok_r(text, ".", &save);
    i->row = sass_row_named(base, i);
    if (!i->row)
        return fail(r, "opcode %s", base);
    for (char *mod; (mod = strtok_r(NULL, ".", &save));) {
        char spaced[40], allowed[400];
        snprintf(spaced, sizeof spaced, " %s ", mod);
        snprintf(allowed, sizeof allowed, " %s ", i->row->mods);
        uint32_t n = 0;
        while (n < SASS_MOD_COUNT && strcmp(names[n], mod) != 0)
            n++;
        if (n == SASS_MOD_COUNT || !strstr(allowed, spaced))
            return fail(r, "%s with .%s", base, mod);
        i->mods[n / 64] |= (uint64_t)1 << (n % 64);
        if (i->mod_count < 8)
            i->mod_order[i->mod_count++] = (uint16_t)n;
    }
    return true;
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    for (size_t n = strlen(text); n && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
        text[n - 1] = 0;
    return text;
}

// Decimal numbers are read from the encoding: the text of a NaN does not tell which.
static void take_number(sass_inst *i, uint64_t code)
{
    for (uint32_t n = 0; n < i->operand_count; n++) {
        sass_operand *o = &i->operands[n];
        if (!o->is_decimal)
            continue;
        o->value = (int64_t)(code >> 32);
        o->is_negative = o->is_absolute = false;
    }
}

static bool read_inst(reader *r, char *line, uint32_t address)
{
    sass_inst i = {.guard = -1, .address = address};
    char *code = strstr(line, "/* 0x");
    if (code)
        code[-1] = 0;
    char *end = strstr(line, "(*\"");
    if (!end)
        end = strrchr(line, ';');
    if (end)
        *end = 0;
    line = trim(line);
    snprintf(i.text, sizeof i.text, "%s", line);
    if (*line == '@') {
        sass_operand guard = {0};
        char *name = ++line;
        line = strchr(line, ' ');
        *line++ = 0;
        i.guard_is_not = *name == '!';
        if (!read_register(name + i.guard_is_not, &guard) || guard.kind != SASS_PRED)
            return fail(r, "guard %s", name);
        i.guard = (int8_t)guard.index;
        i.guard_is_uniform = guard.is_uniform;
        line = trim(line);
    }
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = 0;
    if (!read_opcode(r, line, &i))
        return false;
    for (char *at = rest ? trim(rest) : NULL; at && *at;) {
        char *next = at;
        int depth = 0;
        for (; *next && (depth || (*next != ',' && *next != ' ')); next++)
            depth += *next == '(' ? 1 : *next == ')' ? -1 : 0;
        bool is_last = !*next;
        *next = 0;
        if (*at && !read_operand(r, at, &i))
            return false;
        at = is_last ? NULL : trim(next + 1);
    }
    take_number(&i, code ? strtoull(code + 3, NULL, 16) : 0);
    r->p->insts = grow(r->p->insts, r->p->inst_count, sizeof *r->p->insts);
    r->p->insts[r->p->inst_count++] = i;
    return true;
}

static bool read_text(reader *r, char *text)
{
    uint32_t base = 0, next = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t len = strlen(line);
        char *section = strstr(line, ".section\t");
        if (section) {
            char name[200];
            snprintf(name, sizeof name, "%s", section + 9);
            name[strcspn(name, ",")] = 0;
            const sass_section *s = sass_find(r->p, trim(name));
            base = next = s ? s->at : 0;
            r->section = base;
        } else if (len > 1 && line[len - 1] == ':' && base) {
            r->marks = grow(r->marks, r->mark_count, sizeof *r->marks);
            struct mark *m = &r->marks[r->mark_count++];
            snprintf(m->name, sizeof m->name, "%.*s", (int)(len - 1), line);
            m->address = next;
            m->section = base;
        } else if (strstr(line, "/*") && strchr(line, ';') && base) {
            char *code = strstr(line, "/*");
            uint32_t address = base + (uint32_t)strtoul(code + 2, NULL, 16);
            char *body = strstr(code, "*/");
            // gaps between sections are never reached
            while (body && SASS_TEXT + 16 * r->p->inst_count < address) {
                r->p->insts = grow(r->p->insts, r->p->inst_count, sizeof *r->p->insts);
                r->p->insts[r->p->inst_count++] = (sass_inst){.guard = -1};
            }
            if (!body)
                continue;
            char kept[160];
            snprintf(kept, sizeof kept, "%s", trim(body + 2));
            kept[strcspn(kept, ";")] = 0;
            if (!read_inst(r, body + 2, address)) {
                size_t at = strlen(r->error);
                snprintf(r->error + at, r->error_size - at, ", in \"%s\"", kept);
                return false;
            }
            next = address + 16;
        }
    }
    return true;
}

static const struct mark *find_mark(const reader *r, const char *name, uint32_t section)
{
    const struct mark *found = NULL;
    for (uint32_t m = 0; m < r->mark_count; m++)
        if (!strcmp(r->marks[m].name, name) && (!found || r->marks[m].section == section))
            found = &r->marks[m];
    return found;
}

// `(.L_x_1)   32@lo((k + .L_x_1@srel))   32@lo(name)   32@hi(fun@fdesc(name))
static bool fix(reader *r, const struct fixup *f)
{
    sass_operand *o = &r->p->insts[f->inst].operands[f->operand];
    char name[200];
    const char *at = f->name;
    bool is_high = !strncmp(at, "32@hi", 5), is_relative = strstr(at, "@srel") != NULL;
    const char *plus = strstr(at, " + ");
    at = plus ? plus + 3 : strrchr(at, '(') + 1;
    snprintf(name, sizeof name, "%s", at);
    name[strcspn(name, "@)")] = 0;
    const struct mark *m = find_mark(r, name, f->section);
    uint64_t address;
    if (m)
        address = m->address - (is_relative ? m->section : 0);
    else if (!symbol_address(r->p, name, &address))
        return fail(r, "label %s", f->name);
    o->value = *f->name == '`' ? (int64_t)address
               : is_high       ? (int64_t)(address >> 32)
                               : (int64_t)(uint32_t)address;
    return true;
}

static bool disassemble(reader *r, const char *cubin)
{
    char command[600];
    const char *tool = getenv("KILN_NVDISASM");
    snprintf(command, sizeof command, "%s -c -hex '%s' 2>/dev/null",
             tool && *tool ? tool : "nvdisasm", cubin);
    FILE *in = popen(command, "r");
    size_t bytes = 0, room = 1 << 16;
    char *text = malloc(room + 1);
    for (size_t got; in && (got = fread(text + bytes, 1, room - bytes, in)) > 0;)
        if ((bytes += got) == room)
            text = realloc(text, (room *= 2) + 1);
    text[bytes] = 0;
    if (!in || pclose(in) != 0 || !bytes) {
        free(text);
        return fail(r, "nvdisasm cannot read what ptxas made, or is not here (KILN_NVDISASM)");
    }
    bool is_read = read_text(r, text);
    for (uint32_t f = 0; is_read && f < r->fixup_count; f++)
        is_read = fix(r, &r->fixups[f]);
    free(text);
    return is_read;
}

sass_program *sass_assemble(const char *ptx, size_t bytes, int level, char *error, size_t size)
{
    reader r = {.p = calloc(1, sizeof(sass_program)), .error = error, .error_size = size};
    char source[64], cubin[80], log[80], command[400], target[32] = "";
    snprintf(source, sizeof source, "/tmp/kiln-sass-XXXXXX");
    int handle = mkstemp(source);
    snprintf(cubin, sizeof cubin, "%s.o", source);
    snprintf(log, sizeof log, "%s.log", source);
    const char *named = strstr(ptx, ".target ");
    if (named)
        sscanf(named + 8, "%30[a-z0-9_]", target);
    bool is_written = handle >= 0 && write(handle, ptx, bytes) == (ssize_t)bytes;
    if (handle >= 0)
        close(handle);
    snprintf(command, sizeof command, "ptxas -arch %s -O%d '%s' -o '%s' >'%s' 2>&1", target, level,
             source, cubin, log);
    size_t elf_bytes = 0;
    int status = is_written ? system(command) : -1;
    char *elf = status == 0 ? read_all(cubin, &elf_bytes) : NULL;
    char *said = elf ? NULL : read_all(log, &(size_t){0});
    bool is_good = elf ? read_elf(&r, elf, elf_bytes) && relocate(&r, elf) && disassemble(&r, cubin)
                       : fail(&r, "ptxas ends with %d: %.300s", status, said ? said : "");
    free(said);
    free(elf);
    free(r.marks);
    free(r.fixups);
    unlink(source);
    unlink(cubin);
    unlink(log);
    if (is_good)
        return r.p;
    sass_free(r.p);
    return NULL;
}

void sass_free(sass_program *p)
{
    for (uint32_t s = 0; p && s < p->section_count; s++)
        free(p->sections[s].data);
    if (p) {
        free(p->sections);
        free(p->symbols);
        free(p->insts);
    }
    free(p);
}

bool sass_param_sizes(const char *text, const char *kernel, uint32_t *sizes, uint32_t room)
{
    char entry[200];
    snprintf(entry, sizeof entry, ".entry %s", kernel);
    const char *at = strstr(text, entry);
    while (at && at[strlen(entry)] != '(' && at[strlen(entry)] != ' ')
        at = strstr(at + 1, entry);
    const char *end = at ? strchr(at, ')') : NULL;
    uint32_t count = 0;
    for (; end && (at = strstr(at, ".param ")) && at < end; at++) {
        uint32_t alignment = 0, bytes = 0;
        const char *type = at + 7, *limit = strpbrk(type, ",)");
        while (*type == ' ')
            type++;
        if (sscanf(type, ".align %u", &alignment) == 1)
            type = strchr(type + 1, '.');
        bytes = (uint32_t)atoi(type + 2) / 8;
        alignment = alignment ? alignment : bytes;
        const char *array = strchr(type, '[');
        if (array && array < limit)
            bytes *= (uint32_t)atoi(array + 1);
        if (count + 1 >= room)
            return false;
        sizes[count++] = bytes | alignment << 16;
    }
    sizes[count] = 0;
    return end != NULL;
}
