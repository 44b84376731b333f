# Runs suites beside each other: for tests/all and tests/gpu/run, which set `logs` (an empty folder), perhaps `limit` (seconds of a suite), and
# read this file.
#     suite NAME COMMAND…     starts one as soon as fewer than JOBS (as many as there are cores) run, and tells its result when it has ended
#     wait                    until all have ended
#     sum                     prints "N passed, N failed, N skipped"; fails when something has failed
# A suite's last "…N passed, N failed, N skipped" counts; without one, its exit status does.
jobs=${JOBS:-$(nproc)}
names= started=0

run_suite() {
    name=$1
    shift
    begun=$(date +%s)
    ${limit:+timeout $limit} "$@" > "$logs/$name.log" 2>&1
    status=$?
    line=$(grep -E '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$name.log" | tail -1 | sed 's/^.*: //')
    if [ -z "$line" ]; then
        [ $status = 0 ] && line="1 passed, 0 failed, 0 skipped" || line="0 passed, 1 failed, 0 skipped"
    fi
    set -- $(echo "$line" | tr -c '0-9\n' ' ')
    [ $status != 0 ] && [ "$2" = 0 ] && set -- "$1" 1 "$3"
    {
        printf '%-20s %6d passed %4d failed %4d skipped %5ds\n' "$name" "$1" "$2" "$3" $(($(date +%s) - begun))
        [ "$2" = 0 ] || { grep -v -e '\[       OK' -e '\[ RUN' "$logs/$name.log" | tail -"${LOG_LINES:-60}"; }
        grep -h '^skipped: ' "$logs/$name.log" | sort | uniq -c | sed 's/^/    /'
    } > "$logs/$name.told"
    cat "$logs/$name.told" # in one piece
    echo "$1 $2 $3" > "$logs/$name.result"
}

suite() {
    while [ $((started - $(ls "$logs" | grep -c '\.result$'))) -ge "$jobs" ]; do sleep 0.1; done
    names="$names $1" started=$((started + 1))
    run_suite "$@" &
}

sum() {
    passed=0 failed=0 skipped=0
    for name in $names; do
        read -r good bad left < "$logs/$name.result"
        passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
}
