// Part of forward_sm90.c: scores in the registers of a warpgroup become probabilities.
//
// A thread holds BN / 2 scores of two rows, h = 0 and 1 (acc_row and acc_column of kiln/tile.h say
// where). The four lanes of a row agree on the largest score of each block; sums stay with each
// thread until the end.

typedef struct softmax {
    f32 max[2];     // what the probabilities are relative to: about the largest score so far, scaled
    f32 offset[2];  // the same, or 0 for -infinity
    f32 sum[2];     // of the probabilities in this thread's columns
    f32 rescale[2]; // what earlier sums are multiplied by because of the newest block
} softmax;
typedef f32 scores[BN / 2];

// Updates what probabilities are relative to. It follows the largest score only when that has grown
// by more than a factor of 2^8 in one of the warp's rows; until then probabilities may be above 1,
// and nothing is lost by that. Returns whether it did: then earlier sums are rescaled.
static bool update_max(scores *s, softmax *m, f32 scale, bool is_first)
{
    f32 largest[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++)
        largest[h] = acc_max(*s, h);
    acc_lanes_max(&largest);
    bool needs_rescale = false;
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32 scaled = largest[h] * scale;
        bool grows = is_first || warp_any(scaled - m->max[h] > 8.0f);
        if (!is_first)
            scaled = grows ? max(scaled, m->max[h]) : m->max[h];
        m->offset[h] = (CAUSAL || MASKED) && scaled == -INFINITY ? 0.0f : scaled; // a row without a key so far
        if (!is_first)
            m->rescale[h] = fast_exp2(m->max[h] - m->offset[h]);
        m->max[h] = scaled;
        needs_rescale = needs_rescale || grows;
    }
    return needs_rescale;
}

// Scores become probabilities.
static void exponentiate(scores *s, softmax *m, f32 scale, bool is_first)
{
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        (*s)[i] = fast_exp2(fma((*s)[i], scale, -m->offset[i / 2 % 2]));
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32 sum = acc_sum(*s, h);
        m->sum[h] = is_first ? sum : fma(m->sum[h], m->rescale[h], sum);
    }
}
