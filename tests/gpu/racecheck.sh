# What of racecheck's reports is a race: for tests/gpu/seeded and tests/gpu/scenarios, which read this file.
# Correct kernels whose order the tool does not see, or not always: a ring of copies that only mbarriers order, data behind a lock or a flag made of
# atomics, and `turns` of tests/gpu/nv/copies.c, whose warps hand numbers on through barrier_arrive and barrier_sync (reported in one of three runs of
# the same code; PTX orders what is before an arrive before what is behind the sync; why the tool differs is not known).
beyond_racecheck=' at (ring|locked|flagged|turns)\+'

races() { # LOG KINDS ("Error", "Error|Warning"): how many there are
    grep -E "^=+ +($2): (Race reported|Potential)" "$1" | grep -v -c -E "$beyond_racecheck"
}
