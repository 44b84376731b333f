# What the suites of the kiln program share. Read first: it goes to an empty folder, with $kiln, $cflags, $libs from the arguments and $here, the repository.
kiln=$(realpath "$1") cflags=$2 libs=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
KILN_DEVICE=interp KILN_CACHE=off
export KILN_DEVICE KILN_CACHE
passed=0 failed=0 skipped=0
ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAIL: $*"
    head -5 out err 2>/dev/null
}
skip() { # why: what this machine lacks is counted, not passed over
    skipped=$((skipped + 1))
    echo "skipped: $*"
}
has() { # program: is it here? Says so when it is not
    command -v "$1" > /dev/null && return
    skip "$1 is not installed"
    return 1
}
# expect STATUS 'text in out or empty' 'text in err or empty' -- command…
expect() {
    want=$1 out_text=$2 err_text=$3
    shift 4
    "$@" > out 2> err < /dev/null
    got=$?
    if [ $got != "$want" ]; then bad "$* exits $got, not $want"; return; fi
    if [ -n "$out_text" ] && ! grep -qF -- "$out_text" out; then bad "$*: no '$out_text' in the output"; return; fi
    if [ -n "$err_text" ] && ! grep -qF -- "$err_text" err; then bad "$*: no '$err_text' in the errors"; return; fi
    ok
}
