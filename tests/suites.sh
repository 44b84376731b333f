# Runs suites beside each other: for tests/all and tests/gpu/run, which set `logs` (an empty folder), perhaps `limit` (seconds of a suite), and
# read this file.
#     suite NAME COMMAND…     starts one as soon as fewer than JOBS (as many as there are cores) run, and tells its result when it has ended
#     tool NAME COMMAND…      the same for a command that counts nothing: its exit status is its result
#     wait                    until all have ended
#     sum                     prints "N passed, N failed, N skipped"; fails when something has failed
# ONLY='unit ops': those alone.
# A suite's last "…N passed, N failed, N skipped" counts. One that ends without it, or that has done nothing at all, has failed: a program that
# leaves early or finds no files must not pass. Each skip needs a line "skipped: REASON", which is shown.
jobs=${JOBS:-$(nproc)}
names= started=0

run_suite() {
    kind=$1 name=$2
    shift 2
    begun=$(date +%s)
    ${limit:+timeout $limit} "$@" > "$logs/$name.log" 2>&1
    status=$?
    line=$(grep -E '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$name.log" | tail -1 | sed 's/^.*: //')
    if [ -z "$line" ]; then
        if [ $status = 0 ] && [ $kind = tool ]; then
            line="1 passed, 0 failed, 0 skipped"
        else
            echo "FAIL: $name ends with status $status and does not say what has passed" >> "$logs/$name.log"
            line="0 passed, 1 failed, 0 skipped"
        fi
    fi
    set -- $(echo "$line" | tr -c '0-9\n' ' ')
    [ $status != 0 ] && [ "$2" = 0 ] && set -- "$1" 1 "$3"
    if [ "$1 $2 $3" = '0 0 0' ]; then
        echo "FAIL: $name has tested nothing" >> "$logs/$name.log"
        set -- 0 1 0
    elif [ "$3" != 0 ] && ! grep -q '^skipped: ' "$logs/$name.log"; then
        echo "FAIL: $name skips $3 without a reason" >> "$logs/$name.log"
        set -- "$1" $(($2 + 1)) "$3"
    fi
    {
        printf '%-20s %6d passed %4d failed %4d skipped %5ds\n' "$name" "$1" "$2" "$3" $(($(date +%s) - begun))
        [ "$2" = 0 ] || { grep -v -e '\[       OK' -e '\[ RUN' "$logs/$name.log" | tail -"${LOG_LINES:-60}"; }
        grep -h '^skipped: ' "$logs/$name.log" | sort | uniq -c | sed 's/^/    /'
    } > "$logs/$name.told"
    cat "$logs/$name.told" # in one piece
    echo "$1 $2 $3" > "$logs/$name.result"
}

start() { # suite or tool, NAME COMMAND…
    case " ${ONLY:-$2} " in *" $2 "*) ;; *) return ;; esac
    while [ $((started - $(ls "$logs" | grep -c '\.result$'))) -ge "$jobs" ]; do sleep 0.1; done
    names="$names $2" started=$((started + 1))
    run_suite "$@" &
}
suite() { start suite "$@"; }
tool() { start tool "$@"; }

# The failures once more, where a long log is read first: at its end. Their names are in the file `failed` for who runs them again.
recall() {
    for name in $names; do
        bad=1
        [ ! -s "$logs/$name.result" ] || read -r good bad left < "$logs/$name.result"
        [ "$bad" != 0 ] || continue
        echo "failed: $name"
        grep -E 'FAIL|FAILED|[Ee]rror' "$logs/$name.log" | head -20 | sed 's/^/    /'
        echo "$name" >> "$logs/failed"
    done
}

sum() {
    passed=0 failed=0 skipped=0
    for name in $names; do
        good=0 bad=1 left=0 # one that was killed has left no result
        [ ! -s "$logs/$name.result" ] || read -r good bad left < "$logs/$name.result"
        [ -s "$logs/$name.result" ] || echo "FAIL: $name has no result"
        passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
    done
    [ $failed = 0 ] || recall
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
}
