// kiln check and the heap: which bytes belong to which block. lib/libc/heap.h tells of every block
// through the host function kiln_heap_note, which is answered here; accesses to the heap's pages
// must lie in one live block. A block has a margin that is nobody's, and its bytes count as not set
// when it is made. Start at heap_note and heap_is_fine.
#include "rt/memory/heap.h"
#include "ir/host.h"
#include "rt/check/check.h"

enum { GRAIN = 16, REACH = 64 }; // REACH: grains around an access where its block is looked for

typedef struct heap_block {
    uint64_t at, bytes;
    spot made, freed; // made.code 0: by an earlier launch
    bool is_live;
} heap_block;

struct heap_watch {
    uint64_t row;        // of the heap's buffer
    uint64_t first, end; // addresses of the pages
    uint32_t *owner;     // per grain of the pages: 1 + its block; 0: none
    vec(heap_block) blocks;
};

// --- blocks
static void add_block(check *k, uint64_t at, uint64_t bytes, spot made)
{
    heap_watch *h = k->heap;
    uint64_t end = (at + bytes + GRAIN - 1) / GRAIN * GRAIN;
    heap_block b = {.at = at, .bytes = bytes, .made = made, .is_live = true};
    vec_push(k->a, &h->blocks, b);
    for (uint64_t grain = at; grain < end || grain == at; grain += GRAIN)
        if (grain < h->end)
            h->owner[(grain - h->first) / GRAIN] = h->blocks.len;
}

static bool is_inside(const heap_watch *h, uint64_t address)
{
    return address >= h->first && address < h->end;
}

// The block that has the grain of `address`; NULL: none.
static heap_block *block_at(const heap_watch *h, uint64_t address)
{
    uint32_t owner = is_inside(h, address) ? h->owner[(address - h->first) / GRAIN] : 0;
    return owner ? &h->blocks.at[owner - 1] : NULL;
}

// The block that an access outside of all probably meant.
static const heap_block *block_near(const heap_watch *h, uint64_t address)
{
    for (uint64_t n = 0; n < REACH; n++) {
        const heap_block *below = block_at(h, address - n * GRAIN),
                         *above = block_at(h, address + n * GRAIN);
        if (below && below->is_live)
            return below;
        if (above && above->is_live)
            return above;
    }
    return NULL;
}

// Those that earlier launches have left: their pages and bitmaps say where they are.
static void find_old_blocks(check *k, const uint8_t *base)
{
    heap_watch *h = k->heap;
    heap_header head;
    memcpy(&head, base, sizeof head);
    for (uint32_t page = 0; page < head.page_count; page++) {
        uint64_t state;
        uint64_t start = h->first + (uint64_t)page * HEAP_PAGE;
        memcpy(&state, base + head.states + page * sizeof state, sizeof state);
        uint32_t what = (uint32_t)(state >> 32), run = 0;
        if (what == HEAP_HEAD) {
            memcpy(&run, base + head.runs + page * sizeof run, sizeof run);
            add_block(k, start, (uint64_t)run * HEAP_PAGE, (spot){0});
        }
        const uint8_t *bitmap = base + head.bitmaps + (uint64_t)page * HEAP_BITMAP_BYTES;
        for (uint32_t bit = 0; what && what <= HEAP_CLASSES && bit < HEAP_BITMAP_BYTES * 8; bit++)
            if (bitmap[bit / 8] >> bit % 8 & 1)
                add_block(k, start + (uint64_t)bit * heap_chunk(what - 1), heap_chunk(what - 1),
                          (spot){0});
    }
}

uint64_t heap_watch_bytes(uint64_t arena_bytes)
{
    return sizeof(heap_watch) + (arena_bytes / GRAIN + 1) * sizeof(uint32_t);
}

void heap_watch_make(check *k, uint64_t address, const interp_buffer *row, void *memory)
{
    heap_header head;
    heap_watch *h = k->heap = memory;
    memcpy(&head, row->base, sizeof head);
    h->row = address >> INTERP_SEGMENT_BITS;
    h->first = address + head.first;
    h->end = h->first + (uint64_t)head.page_count * HEAP_PAGE;
    h->owner = (uint32_t *)(void *)((uint8_t *)memory + sizeof *h);
    find_old_blocks(k, row->base);
}

bool heap_has_row(const check *k, uint64_t row)
{
    return k->heap && k->heap->row == row;
}

// --- accesses
bool heap_is_fine(const check *k, uint64_t address, uint64_t bytes)
{
    const heap_watch *h = k->heap;
    if (!h || !is_inside(h, address))
        return true;
    const heap_block *b = block_at(h, address);
    return b && b->is_live && address >= b->at && address - b->at <= b->bytes &&
           bytes <= b->bytes - (address - b->at);
}

void heap_target(const check *k, uint64_t address, array_target *t)
{
    const heap_block *b = k->heap ? block_at(k->heap, address) : NULL;
    if (!b)
        return;
    *t = (array_target){.name = "a block of the heap", .start = b->at, .size = b->bytes};
}

bool heap_report(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                 uint64_t bytes, const char *verb)
{
    check *k = check_of(r);
    const heap_block *b = block_at(k->heap, address);
    spot at = spot_here(r, w, c, lane);
    if (b && !b->is_live) {
        finding *f = finding_new(k, r, K6216, at, &b->freed,
                                 "the kernel %s a block of %llu bytes after it was freed", verb,
                                 (unsigned long long)b->bytes);
        finding_label(k, f, true, "freed by %s", finding_thread(k, r, b->freed));
        finding_label(k, f, false, "byte %llu, by %s", (unsigned long long)(address - b->at),
                      finding_thread(k, r, at));
        return finding_goes_on(k);
    }
    b = b ? b : block_near(k->heap, address);
    bool is_own = b && b->made.code;
    finding *f;
    if (b) {
        // A wide access that begins inside: the first byte that is not there.
        int64_t byte = (int64_t)(address - b->at);
        if (byte >= 0 && (uint64_t)byte < b->bytes && bytes > b->bytes - (uint64_t)byte)
            byte = (int64_t)b->bytes;
        f = finding_new(k, r, K6217, at, is_own ? &b->made : NULL,
                        "the kernel %s byte %lld of a block of %llu", verb, (long long)byte,
                        (unsigned long long)b->bytes);
    } else {
        f = finding_new(k, r, K6217, at, NULL, "the kernel %s memory of the heap that no block has",
                        verb);
    }
    if (is_own)
        finding_label(k, f, true, "allocated by %s", finding_thread(k, r, b->made));
    finding_label(k, f, false, "by %s", finding_thread(k, r, at));
    return finding_goes_on(k);
}

// --- what the library tells
static void forget_cells(check *k, const runner *r, uint64_t at, uint64_t bytes)
{
    cell *cells = k->rows[k->heap->row].cells;
    uint64_t granule = r->program->granule, offset = at & OFFSET_MASK;
    mark unset = {.flags = MARK_UNSET};
    for (uint64_t n = offset / granule; cells && n * granule < offset + bytes; n++)
        cells[n] = (cell){.write = unset};
}

// `what` happens to a pointer that is no live block.
static void report_stray(runner *r, spot at, uint64_t address, const char *what)
{
    check *k = check_of(r);
    const heap_block *b = block_at(k->heap, address);
    bool is_twice = b && !b->is_live && b->at == address;
    finding *f =
        is_twice
            ? finding_new(k, r, K6218, at, &b->freed, "a block of %llu bytes is %s twice",
                          (unsigned long long)b->bytes, what)
            : finding_new(k, r, K6218, at, NULL, "what is %s here is no block of the heap", what);
    if (is_twice) {
        finding_label(k, f, true, "first by %s", finding_thread(k, r, b->freed));
        finding_label(k, f, false, "again by %s", finding_thread(k, r, at));
        return;
    }
    finding_label(k, f, false, "by %s", finding_thread(k, r, at));
    if (f && b && b->is_live)
        diag_note(f->d, "the pointer is %llu bytes behind the start of a block of %llu",
                  (unsigned long long)(address - b->at), (unsigned long long)b->bytes);
    else if (f)
        diag_note(f->d, "only what malloc, calloc, realloc and aligned_alloc gave can be freed");
}

static uint64_t note(runner *r, spot at, uint32_t what, uint64_t address, uint64_t bytes)
{
    check *k = check_of(r);
    heap_block *b = block_at(k->heap, address);
    bool is_block = b && b->is_live && b->at == address;
    switch (what) {
    case 1:
        add_block(k, address, bytes, at);
        forget_cells(k, r, address, bytes);
        return 0;
    case 2:
        if (is_block) {
            b->is_live = false;
            b->freed = at;
            return 0;
        }
        report_stray(r, at, address, "freed");
        return 1;
    default:
        if (!is_block)
            report_stray(r, at, address, "resized");
        return is_block ? b->bytes : 0;
    }
}

bool heap_is_note(str spelled)
{
    return str_starts(spelled, HEAP_NOTE " ");
}

bool heap_note(runner *r, warp *w, const code *c)
{
    const uint32_t *in = r->program->extra + c->b, *out = r->program->extra + c->d;
    const lane_u32 *what = slot_at(w, in[0]);
    const lane_u64 *address = slot_at(w, in[1]), *bytes = slot_at(w, in[2]);
    lane_u64 *answer = slot_at(w, out[0]);
    check *k = check_of(r);
    for (uint32_t left = k->heap ? w->active : 0; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        answer[lane] = note(r, spot_here(r, w, c, lane), what[lane], address[lane], bytes[lane]);
        if (k->is_stopped)
            return finding_goes_on(k);
    }
    return true;
}

// --- the end
void heap_leaks(runner *r)
{
    check *k = check_of(r);
    for (uint32_t n = 0; k->heap && k->wants_leaks && n < k->heap->blocks.len; n++) {
        const heap_block *b = &k->heap->blocks.at[n];
        if (k->is_stopped)
            return;
        if (!b->is_live || !b->made.code)
            continue;
        finding *f = finding_new(k, r, K6219, b->made, NULL, "a block of %llu bytes is never freed",
                                 (unsigned long long)b->bytes);
        finding_label(k, f, false, "allocated by %s", finding_thread(k, r, b->made));
    }
}
