# Compares the numbers of a page with bench/results (mode=check: complaints and quoted files out), or puts the measured ones in (mode=fill: the page out).
# Called by tools/bench-check with page=, mode=; the forms of a marker stand there. Start at the last block.
function trim(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }
function complain(words) { if (mode == "check") print "bad " page ":" NR ": " words }
BEGIN { unmeasured = "not yet measured" }
function is_number(s) { return s ~ /^-?[0-9][0-9,]*(\.[0-9]+)?$/ }
# "16 x 4096 x 64" is 16x4096x64 in a key, "bf16 nt" is bf16.nt
function key_part(s) { gsub(/`/, "", s); gsub(/ x /, "x", s); gsub(/ /, ".", s); return s }
function replace(s, what, by,    at) { while ((at = index(s, what)) > 0) s = substr(s, 1, at - 1) by substr(s, at + length(what)); return s }

# --- result files: one "key": value a line after "results"
function load(name,    path, text, inside, at) {
    if (name in known) return
    path = "bench/results/" name
    known[name] = 0
    while ((getline text < path) > 0) {
        known[name] = 1
        if (text ~ /^"results"/) inside = 1
        at = index(text, "\": ")
        if (inside && at) { value[name, substr(text, 2, at - 2)] = substr(text, at + 3) + 0; has[name, substr(text, 2, at - 2)] = 1 }
    }
    close(path)
    if (mode == "check" && known[name]) print "file " name
    if (!known[name] && is_pending(name)) known[name] = -1
    if (mode == "check" && known[name] < 0) print "pending " name
}
# Whether bench/results/pending lists a file: it may be missing, and its cells say that nothing was measured yet.
function is_pending(name,    text, found) {
    while ((getline text < "bench/results/pending") > 0) if (index(text, name " ") == 1) found = 1
    close("bench/results/pending")
    return found
}
# The first number of a cell that said "not yet measured": three digits.
function first_number(key,    v) {
    if (!((file, key) in has)) { complain("bench/results/" file " has no \"" key "\""); return unmeasured }
    complain(key " is measured now: tools/bench-check --fill writes it")
    v = value[file, key]
    return sprintf(v >= 100 ? "%.0f" : v >= 10 ? "%.1f" : v >= 1 ? "%.2f" : "%.3f", v)
}
# One number that the page shows: checked, or the measured one with as many decimals.
function measured(key, shown,    plain, decimals, now) {
    count++
    if (!((file, key) in has)) { complain("bench/results/" file " has no \"" key "\""); return shown }
    plain = shown
    gsub(/,/, "", plain)
    decimals = plain ~ /\./ ? length(plain) - index(plain, ".") : 0
    now = sprintf("%." decimals "f", value[file, key])
    if (now != plain) complain("the measured value of " key " is " value[file, key] ", the page says " shown)
    return now == plain ? shown : now
}

# --- markers
function read_marker(text,    n, entry, k, at, label) {
    delete keys_of
    delete is_met
    labels = 0
    standard = ""
    sub(/^<!-- results: */, "", text)
    sub(/ *-->.*/, "", text)
    text = trim(text)
    match(text, /^[^ \n;]+/)
    file = substr(text, 1, RLENGTH)
    n = split(substr(text, RLENGTH + 1), entry, /[;\n]/)
    for (k = 1; k <= n; k++) {
        if (trim(entry[k]) == "") continue
        at = index(entry[k], ": ")
        if (!at) { standard = trim(standard " " trim(entry[k])); continue }
        label = trim(substr(entry[k], 1, at - 1))
        keys_of[label] = trim(substr(entry[k], at + 2))
        names[++labels] = label
    }
    load(file)
    if (!known[file]) complain("there is no bench/results/" file)
}

function table_row(line,    n, cell, label, pattern, keys, key, c, shown, out) {
    n = split(line, cell, "|") - 1
    if (++rows == 1) { for (c = 2; c <= n; c++) heading[c] = trim(cell[c]); return line }
    if (rows == 2) return line
    label = trim(cell[2])
    if (label in keys_of) { pattern = keys_of[label]; is_met[label] = 1 } else pattern = standard
    if (pattern == "") { complain("the marker says nothing about the row '" label "'"); return line }
    keys = split(pattern, key, " ")
    if (keys != 1 && keys != n - 2) { complain("row '" label "': " keys " keys for " n - 2 " columns"); return line }
    out = "|" cell[2] "|"
    for (c = 3; c <= n; c++) {
        pattern = replace(replace(key[keys == 1 ? 1 : c - 2], "{row}", key_part(label)), "{column}", key_part(heading[c]))
        shown = trim(cell[c])
        if (pattern == "-") {
            if (is_number(shown)) complain("row '" label "': the number " shown " has no key")
            out = out cell[c] "|"
        } else if (known[file] < 0) {
            if (shown != unmeasured) complain("row '" label "', '" heading[c] "': there is no bench/results/" file " yet: the cell must say '" unmeasured "'")
            out = out cell[c] "|"
        } else if (shown == unmeasured) out = out " " first_number(pattern) " |"
        else if (is_number(shown)) out = out " " measured(pattern, shown) " |"
        else { complain("row '" label "', '" heading[c] "': '" shown "' is not a number"); out = out cell[c] "|" }
    }
    return out
}
# Of a paragraph the bold numbers are the measured ones, in the marker's order.
function paragraph_line(line,    out, shown) {
    out = ""
    while (match(line, /\*\*-?[0-9][0-9,]*(\.[0-9]+)?\*\*/)) {
        shown = substr(line, RSTART + 2, RLENGTH - 4)
        out = out substr(line, 1, RSTART - 1)
        if (++bold > bold_keys) complain("the marker has " bold_keys " keys, and **" shown "** is one more number")
        else shown = measured(bold_key[bold], shown)
        out = out "**" shown "**"
        line = substr(line, RSTART + RLENGTH)
    }
    return out line
}
function finish(    k) {
    if (state == "marker") complain("a marker has no end (-->)")
    if (state == "after") complain("a marker stands before nothing: a table or a paragraph follows it")
    if (state == "table") for (k = 1; k <= labels; k++) if (!(names[k] in is_met)) complain("the table has no row '" names[k] "'")
    if (state == "paragraph" && bold < bold_keys) complain("the paragraph has no bold number for " bold_key[bold + 1])
    state = ""
}
function begin_content(line) {
    rows = bold = 0
    state = line ~ /^\|/ ? "table" : "paragraph"
    bold_keys = split(standard, bold_key, " ")
}

{
    line = $0
    if (line ~ /<!-- result: /) complain("a marker of one number: write <!-- results: FILE.json KEY… --> before the table or the paragraph")
    if (state == "marker") {
        marker = marker "\n" line
        if (index(line, "-->")) { state = ""; read_marker(marker); state = "after" }
    } else if (line ~ /^<!-- results: /) {
        finish()
        marker = line
        state = "marker"
        if (index(line, "-->")) { read_marker(marker); state = "after" }
    } else {
        if (line ~ /^[ \t]*$/ || (state == "table" && line !~ /^\|/)) finish()
        if (state == "after") begin_content(line)
        if (state == "table") line = table_row(line)
        else if (state == "paragraph") line = paragraph_line(line)
    }
    if (mode == "fill") print line
}
END {
    finish()
    if (mode == "check") print "count " count + 0
}
