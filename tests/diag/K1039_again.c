// A struct whose first definition is refused: the second one starts without its members.
struct s {
    struct n *a[];
    struct t q;
};

struct s {
    int b : 3;
    int c;
};

kernel void k(int *p)
{
    struct s v;
    *p = sizeof v;
}
