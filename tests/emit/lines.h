static inline f32 half_of(f32 v)
{
    v = v * 0.5f;
    return v - 1;
}
