# Runs suites beside each other: for tests/all and tests/gpu/run, which set `logs` (an empty folder), perhaps `limit` (seconds of a suite), and
# read this file.
#     suite NAME COMMAND…     starts one as soon as fewer than JOBS (as many as there are cores) run, and tells its result when it has ended
#     tool NAME COMMAND…      the same for a command that counts nothing: its exit status is its result
#     wait                    until all have ended
#     sum                     prints "N passed, N failed, N skipped"; fails when something has failed
# Where the order matters (a long suite that starts last keeps everybody waiting):
#     later NAME COMMAND…     a suite that only the next line starts
#     longest_first TIMES     starts those, in the order of the file TIMES (lines "NAME SECONDS"; one that is not in it is taken for a long one), tells every
#                             30 seconds which ones run, and returns when all have ended. PART=1/2: every second one, PART=2/2: the others
#     longest N               prints the N that took longest, and leaves all times in the file `times`, for TIMES
# ONLY='unit ops': those alone. A suite that runs longer than `limit`, or five times as long as TIMES says and a minute, is cut off, has failed, and its log
# says so.
# A suite's last "…N passed, N failed, N skipped" counts. One that ends without it, or that has done nothing at all, has failed: a program that
# leaves early or finds no files must not pass. Each skip needs a line "skipped: REASON", which is shown.
jobs=${JOBS:-$(nproc)}
names= started=0 pids=

run_suite() {
    kind=$1 name=$2
    shift 2
    begun=$(date +%s)
    ${limit:+timeout -k 5 $limit} "$@" > "$logs/$name.log" 2>&1
    status=$?
    case ${limit:+$status} in 124 | 137) echo "FAIL: $name was cut off after $(($(date +%s) - begun)) of $limit seconds" >> "$logs/$name.log" ;; esac
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
    seconds=$(($(date +%s) - begun))
    echo "$name $seconds" > "$logs/$name.time"
    {
        printf '%-20s %6d passed %4d failed %4d skipped %5ds\n' "$name" "$1" "$2" "$3" $seconds
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
    pids="$pids $!"
}
suite() { start suite "$@"; }
tool() { start tool "$@"; }

later() { # NAME COMMAND…: kept as a script, each word in quotes
    case " ${ONLY:-$1} " in *" $1 "*) ;; *) return ;; esac
    mkdir -p "$logs/later"
    {
        shift
        printf exec
        for word; do printf " '%s'" "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"; done
        echo
    } > "$logs/later/$1"
}

running() { # names of those that have started and not ended
    for name in $names; do [ -e "$logs/$name.result" ] || echo "$name"; done
}

tell_progress() { # every 30 seconds, until the file `ended` is there
    begun=$(date +%s) told=0
    while [ ! -e "$logs/ended" ]; do
        sleep 1
        [ $(($(date +%s) - begun)) -ge $((told + 30)) ] || continue
        told=$(($(date +%s) - begun))
        # this process does not see the names of what starts after it
        names=$(cd "$logs" && for log in *.log; do [ ! -e "later/${log%.log}" ] || echo "${log%.log}"; done)
        echo "after $told s: $(ls "$logs" | grep -c '\.result$') of $(ls "$logs/later" | wc -l) have ended, running: $(running | tr '\n' ' ')"
    done
}

longest_first() { # TIMES
    [ -d "$logs/later" ] || return # ONLY names others
    rm -f "$logs/ended"
    tell_progress &
    most=$limit
    for later_name in $(ls "$logs/later" | awk 'NR == FNR { seconds[$1] = $2; next } { print ($1 in seconds ? seconds[$1] : 100000), $1 }' "$1" - | sort -k1,1nr -k2 |
        awk -v part="${PART:-1/1}" '{ split(part, of, "/") } NR % of[2] == of[1] % of[2] { print $2 }'); do
        limit=$(awk -v name="$later_name" -v most="$most" '$1 == name && (most == "" || $2 * 5 + 60 < most) { most = $2 * 5 + 60 } END { print most }' "$1")
        suite "$later_name" sh "$logs/later/$later_name"
    done
    limit=$most
    wait $pids
    : > "$logs/ended"
}

longest() { # N
    cat "$logs"/*.time | sort -k2,2nr -k1 > "$logs/times"
    echo "the longest of $(wc -l < "$logs/times"), $(awk '{ all += $2 } END { print all + 0 }' "$logs/times") s if they ran one after the other:"
    head -n "$1" "$logs/times" | awk '{ printf "    %-24s %5d s\n", $1, $2 }'
}

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
