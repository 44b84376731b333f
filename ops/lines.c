// Loops over rows (lines.h).
#include "ops/lines.h"

void op_lines_make(const kiln_view *views, uint32_t count, uint32_t axis, op_lines *out)
{
    op_nest_some(views, count, ~((uint32_t)1 << axis), &out->nest);
    out->rows = op_nest_count(&out->nest);
}

kiln_status op_lines_launch(kiln *k, const op_lines *lines, op_launch_desc l)
{
    l.units = "rows";
    l.unit_count = lines->rows;
    return op_launch(k, &l);
}
