__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k_control(__global uchar * p0, __global uchar * p1, uint p2, __local ulong *shared_words, uint dynamic_bytes)
{
    __local uchar *shared = (__local uchar *)shared_words;
    const ulong v1 = (ulong)p0;
    const ulong v2 = (ulong)p1;
    const uint v3 = p2;
    ulong ticks = 0;
    ONE_BY_ONE();
    uint v4 = sle_u32(v3, 0x0u);
    if (v4) {
        return;
    } else {
        goto after2;
    }
    after2:;
    uint v5 = 0;
    uint v6 = 0;
    uint v7 = 0;
    uint nv6 = 0;
    uint nv7 = 0;
    v6 = 0x0u;
    v7 = 0x0u;
    again5: {
        uint v8 = slt_u32(v7, v3);
        if (v8) {
            goto after7;
        } else {
            v5 = v6;
            goto after5;
        }
        after7:;
        uint v9 = 0;
        {
            ulong v10 = (uint64_t)(int64_t)(int32_t)v7;
            ulong v11 = shl_u64(v10, 0x2u);
            ulong v12 = add_u64(v1, v11);
            uint v13;
            v13 = *((__global m4 *)v12);
            uint v14 = slt_u32(v13, 0x0u);
            if (v14) {
                v9 = v6;
                goto after10;
            } else {
                goto after16;
            }
            after16:;
            uint v15 = ashr_u32(v13, 0x1fu);
            uint v16 = lshr_u32(v15, 0x1eu);
            uint v17 = add_u32(v13, v16);
            uint v18 = and_u32(v17, 0xfffffffcu);
            uint v19 = sub_u32(v13, v18);
            uint v20 = 0;
            {
                uint v21 = 0;
                {
                    {
                        if (v19 == 0x0u) {
                            uint v22 = add_u32(v6, 0x1u);
                            v20 = v22;
                            goto after24;
                        } else if (v19 == 0x1u) {
                            uint v23 = add_u32(v6, v13);
                            v20 = v23;
                            goto after24;
                        } else if (v19 == 0x2u) {
                            goto after26;
                        } else {
                            v21 = v6;
                            goto after25;
                        }
                        after27:;
                        return;
                    }
                    after26:;
                    uint v24 = sub_u32(v6, v13);
                    v21 = v24;
                    goto after25;
                }
                after25:;
                uint v25 = xor_known_u32(v21, v7);
                v20 = v25;
                goto after24;
            }
            after24:;
            uint v26 = slt_u32(0x3e8u, v20);
            if (v26) {
                v5 = v20;
                goto after5;
            } else {
                goto after40;
            }
            after40:;
            v9 = v20;
            goto after10;
        }
        after10:;
        uint v27 = add_u32(v7, 0x1u);
        nv6 = v9;
        nv7 = v27;
        v6 = nv6;
        v7 = nv7;
        goto again5;
    }
    after5:;
    uint v28 = (uint)get_local_id(0);
    ulong v29 = (uint64_t)v28;
    ulong v30 = shl_u64(v29, 0x2u);
    ulong v31 = add_u64(v2, v30);
    *((__global m4 *)v31) = v5;
    return;
}
