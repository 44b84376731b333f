# One result file of bench/results -> one SVG (part=picture) or the sentence below it (part=words). Called by tools/chart with chart=, file=, part=.
# The file is flat: one "key": value a line. Nothing but its contents goes into the drawing. Colours are classes with a light and a dark value; the
# drawing brings its own background, so that it can be read where the viewer knows no colour schemes, too. Start at END.
function number(key) { return value[key] + 0 }
function has(key) { return key in value }
function escape(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
function text(x, y, class, words) { printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, escape(words) }
function line(x1, y1, x2, y2, class) { printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class }
function box(x, y, w, h, class) { printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x, y, w, h, class }
function bold(key, decimals) { return sprintf("**%." decimals "f**", number(key)) } # with a marker before the paragraph: tools/bench-check

function head(width, height, title, subtitle) {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height
    printf "<title>%s</title>\n", escape(title)
    print "<style>"
    print "text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 12px; fill: #3d4147 }"
    print ".title { font-size: 17px; font-weight: 600; fill: #16191d } .small { font-size: 11px; fill: #60656d }"
    print ".middle { text-anchor: middle } .end { text-anchor: end } .value { font-size: 11px; text-anchor: middle } .after { font-size: 11px }"
    print ".page { fill: #ffffff } .grid { stroke: #e3e5e8 } .axis { stroke: #8a9099 } .mark { stroke: #16191d; stroke-dasharray: 5 4 }"
    print ".ours { fill: #2f6db3 } .theirs { fill: #b9bdc4 } .second { fill: #86b0dd } .way { fill: none; stroke: #2f6db3; stroke-width: 2 }"
    print ".way2 { fill: none; stroke: #86b0dd; stroke-width: 2 }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #c3c8cf } .title { fill: #f0f2f5 } .small { fill: #9aa1aa }"
    print ".page { fill: #14171b } .grid { stroke: #2b3037 } .axis { stroke: #7b828c } .mark { stroke: #f0f2f5 }"
    print ".ours { fill: #5b9be0 } .theirs { fill: #6c727b } .second { fill: #3b6390 } .way { stroke: #5b9be0 } .way2 { stroke: #3b6390 }"
    print "}"
    print "</style>"
    printf "<rect width=\"%d\" height=\"%d\" rx=\"6\" class=\"page\"/>\n", width, height
    text(24, 32, "title", title)
    text(24, 51, "small", subtitle)
}
function caption(height,    words, driver, version) {
    words = value["gpu"] ", " substr(value["date"], 1, 10)
    if (match(value["driver"], /[0-9]+\.[0-9.]+/)) words = words ", driver " substr(value["driver"], RSTART, RLENGTH)
    else if (has("driver_api")) words = words ", driver API " int(value["driver_api"] / 1000) "." int(value["driver_api"] % 1000 / 10)
    version = value["cudnn"]
    if (version) words = words ", cuDNN " int(version / 10000) "." int(version / 100) % 100 "." version % 100 " through PyTorch " value["torch"]
    text(24, height - 14, "small", words " (" file ")")
    print "</svg>"
}
# A legend's entry, right of x; gives where the next one starts.
function entry(x, y, class, words) {
    box(x, y - 10, 12, 12, class)
    text(x + 18, y, "after", words)
    return x + 18 + 6.2 * length(words) + 22
}
# The distance of grid lines: 1, 2 or 5 times a power of ten, at most `most` of them.
function step_for(range, most,    step) {
    step = 0.01
    while (range / step > most) step *= range / (step * 2) <= most ? 2 : range / (step * 5) <= most ? 5 : 10
    return step
}

# --- matrix product: the ratio by size; a line through the points, since sizes are ordered, and the numbers below, where nothing crosses them
function ratio_path(suffix, class, row,    i, way, x, y) {
    way = ""
    for (i = 1; i <= count; i++) {
        if (!has(stem size[i] suffix)) continue
        x = left + (i - 0.5) * (right - left) / count; y = bottom - (number(stem size[i] suffix) - low) / (high - low) * (bottom - top)
        way = way sprintf("%s%.1f %.1f", way == "" ? "M" : " L", x, y)
    }
    printf "<path d=\"%s\" class=\"%s\"/>\n", way, class
    for (i = 1; i <= count; i++) {
        if (!has(stem size[i] suffix)) continue
        x = left + (i - 0.5) * (right - left) / count; y = bottom - (number(stem size[i] suffix) - low) / (high - low) * (bottom - top)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"/>\n", x, y, class == "way" ? "ours" : "second"
        text(x, bottom + row, "value", sprintf("%.2f", number(stem size[i] suffix)))
    }
    box(left - 20, bottom + row - 10, 12, 12, class == "way" ? "ours" : "second")
}
function matmul(    i, name, has_second, y, tick, x, v, step) {
    stem = "bf16.nt."; count = 0; low = high = 1
    for (i = 1; i <= keys; i++) {
        name = key[i]
        if (index(name, stem) != 1 || name !~ /\.of_library$/) continue
        v = number(name)
        low = v < low ? v : low; high = v > high ? v : high
        if (name ~ /\.chained\.of_library$/) has_second = 1
        else if (substr(name, length(stem) + 1) ~ /^[0-9]+\.of_library$/) { size[++count] = substr(name, length(stem) + 1); sub(/\..*/, "", size[count]) }
    }
    low = int((low - 0.06) * 20) / 20; high = int((high + 0.06) * 20) / 20
    left = 64; right = 836; top = 96; bottom = 336
    head(860, 436, "Matrix product in bf16, n x n x n, against cuBLAS", "above the dashed line: faster than the faster one of cuBLAS and cuBLASLt; inputs bf16, sums f32, B transposed")
    x = entry(left, 76, "ours", "one product at a time")
    if (has_second) entry(x, 76, "second", "each product may start while the one before ends")
    step = step_for(high - low, 8)
    for (tick = int(low / step) * step; tick <= high + step / 100; tick += step) {
        if (tick < low - step / 100) continue
        y = bottom - (tick - low) / (high - low) * (bottom - top)
        line(left, y, right, y, "grid"); text(left - 8, y + 4, "end small", sprintf("%.2f", tick))
    }
    y = bottom - (1 - low) / (high - low) * (bottom - top)
    line(left, y, right, y, "mark")
    line(left, bottom, right, bottom, "axis")
    for (i = 1; i <= count; i++) text(left + (i - 0.5) * (right - left) / count, bottom + 18, "middle", size[i])
    text(left - 8, bottom + 18, "end small", "n")
    printf "<text transform=\"translate(20 %.1f) rotate(-90)\" class=\"middle small\">their time / our time</text>\n", (top + bottom) / 2
    if (has_second) ratio_path(".chained.of_library", "way2", 54)
    ratio_path(".of_library", "way", 36)
    caption(436)
}
function matmul_words(    i, stem, out) {
    out = "<!-- results: " file " bf16.nt.{row}.TFLOPS bf16.nt.{row}.of_library bf16.nt.{row}.chained.of_library -->\n"
    out = out "| m = n = k, bf16 nt | TFLOP/s | of the library | the same in a chain of dependent launches |\n|---|---|---|---|"
    split("1024 2048 4096 8192", size, " ")
    for (i = 1; i <= 4; i++) {
        stem = "bf16.nt." size[i]
        if (has(stem ".TFLOPS") && has(stem ".of_library") && has(stem ".chained.of_library"))
            out = out sprintf("\n| %s | %.0f | %.2f | %.2f |", size[i], number(stem ".TFLOPS"), number(stem ".of_library"), number(stem ".chained.of_library"))
    }
    return out
}

# --- attention: pairs of bars, one panel with and one without the causal mask
function attention_panel(mask, y0, words,    g, i, s, x, h, v, tick, y, group, bar, room, head_left) {
    bottom = y0 + 150; left = 64; right = 836
    text(left, y0 - 12, "", words)
    for (tick = 0; tick <= most; tick += gap) {
        y = bottom - tick / most * 150
        line(left, y, right, y, "grid"); text(left - 8, y + 4, "end small", tick)
    }
    group = (right - left) / groups; bar = group * 0.36 < 34 ? group * 0.36 : 34
    for (g = 1; g <= groups; g++) {
        room = left + (g - 1) * group
        x = room + group / 2
        for (s = 0; s < 2; s++) {
            name = head_of[g] "." mask ".bf16." rows_of[g] (s ? ".cudnn" : "") ".TFLOPS"
            if (!has(name)) continue
            v = number(name); h = v / most * 150
            box(s ? x + 1 : x - bar - 1, bottom - h, bar, h, s ? "theirs" : "ours")
            text(s ? x + 1 + bar / 2 : x - 1 - bar / 2, bottom - h - 5, "value", sprintf("%.0f", v))
        }
        text(x, bottom + 16, "middle", rows_of[g])
        if (g == 1 || head_of[g] != head_of[g - 1]) head_left = room
        if (g == groups || head_of[g] != head_of[g + 1]) {
            line(head_left + 12, bottom + 24, room + group - 12, bottom + 24, "axis")
            text((head_left + room + group) / 2, bottom + 39, "middle small", "head dimension " substr(head_of[g], 3))
        }
    }
    line(left, bottom, right, bottom, "axis")
    printf "<text transform=\"translate(20 %.1f) rotate(-90)\" class=\"middle small\">TFLOP/s</text>\n", y0 + 75
}
# Head dimensions in rising order, whatever the file's; sizes in the file's.
function attention(title,    i, part_of, dim, x) {
    groups = 0; most = 0
    for (i = 1; i <= keys; i++) {
        if (key[i] !~ /^hd[0-9]+\.(full|causal)\.bf16\.[0-9]+(\.cudnn)?\.TFLOPS$/) continue
        if (number(key[i]) > most) most = number(key[i])
    }
    for (dim = 8; dim <= 512; dim += 8)
        for (i = 1; i <= keys; i++) {
            split(key[i], part_of, ".")
            if (part_of[1] == "hd" dim && key[i] ~ /^hd[0-9]+\.full\.bf16\.[0-9]+\.TFLOPS$/) { head_of[++groups] = part_of[1]; rows_of[groups] = part_of[4] }
        }
    gap = step_for(most * 1.1, 5)
    most = (int(most * 1.05 / gap) + 1) * gap
    head(860, 590, title, "sequence length below the bars; more is better")
    x = entry(64, 78, "ours", "Kiln")
    entry(x, 78, "theirs", "cuDNN")
    attention_panel("full", 120, "every query sees every key")
    attention_panel("causal", 350, "causal mask: a query sees the keys up to its own; half of the products count")
    caption(590)
}
function attention_words() {
    return "<!-- results: " file " geomean.of_cudnn -->\nKiln's speed as a multiple of cuDNN's, geometric mean of all rows of the file (bf16 and f16): " bold("geomean.of_cudnn", 2) "."
}

# --- memory: one row a kernel, the tuned one above the example's
function ratio_of_best(kernel,    i, ratio) { # "best" repeats the number of the variant that it is
    for (i = 1; i <= keys; i++) {
        ratio = key[i]
        if (index(ratio, kernel ".") != 1 || !sub(/\.GBps$/, ".of_driver_copy", ratio)) continue
        if (value[key[i]] == value[kernel ".best.GBps"] && has(ratio)) return sprintf("%.2f", number(ratio))
    }
    return ""
}
function bandwidth(    i, n, kernel, most, y, x, tick, gap, width, part_of, height) {
    n = 0; most = 0
    for (i = 1; i <= keys; i++)
        if (key[i] ~ /\.best\.GBps$/) { kernel[++n] = key[i]; sub(/\.best\.GBps$/, "", kernel[n]); if (number(key[i]) > most) most = number(key[i]) }
    gap = step_for(most * 1.02, 6); left = 170; right = 660; top = 100; bottom = top + n * 34
    most = (int(most * 1.001 / gap) + 1) * gap; height = bottom + 76
    head(860, height, "Kernels that memory limits: bytes read and written", "f32; 64M elements, or rows x columns; more is better")
    x = entry(left, 78, "ours", "tuned kernel (bench/gpu/kernels)")
    entry(x, 78, "second", "the simple one (examples/)")
    for (tick = 0; tick <= most; tick += gap) {
        x = left + tick / most * (right - left)
        line(x, top - 4, x, bottom, "grid"); text(x, bottom + 17, "middle small", tick)
    }
    for (i = 1; i <= n; i++) {
        y = top + (i - 1) * 34
        split(kernel[i], part_of, ".")
        text(left - 10, y + 12, "end", part_of[1]); text(left - 10, y + 25, "end small", part_of[2])
        width = number(kernel[i] ".best.GBps") / most * (right - left)
        box(left, y, width, 15, "ours")
        text(716, y + 12, "end", sprintf("%.0f", number(kernel[i] ".best.GBps"))); text(836, y + 12, "end", ratio_of_best(kernel[i]))
        if (has(kernel[i] ".example.GBps")) box(left, y + 16, number(kernel[i] ".example.GBps") / most * (right - left), 8, "second")
    }
    text(716, 86, "end small", "GB/s"); text(836, 86, "end small", "of the driver's copy")
    line(left, top - 4, left, bottom, "axis")
    text((left + right) / 2, bottom + 34, "middle small", "GB/s")
    caption(height)
}
function bandwidth_words() {
    return "<!-- results: " file " copy.64M.best.GBps -->\nA copy reaches " bold("copy.64M.best.GBps", 0) " GB/s. The simple kernels load four bytes at a time, the tuned ones sixteen."
}

match($0, /^ *"[^"]+": /) {
    name = substr($0, RSTART, RLENGTH); sub(/^ *"/, "", name); sub(/": $/, "", name)
    rest = substr($0, RSTART + RLENGTH); sub(/,? *$/, "", rest); gsub(/^"|"$/, "", rest)
    value[name] = rest; key[++keys] = name
}
END {
    if (part == "words") {
        print chart == "matmul" ? matmul_words() : chart == "bandwidth" ? bandwidth_words() : attention_words()
    } else if (chart == "matmul") matmul()
    else if (chart == "bandwidth") bandwidth()
    else attention(chart == "attention_forward" ? "Attention forward in bf16" : "Attention backward in bf16")
}
