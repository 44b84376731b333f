// a struct whose error is put away, and no room for it when a host function wants it
typedef struct {
    i
} list;
host void linked(list);
kernel void run(void)
{
    linked();
}
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
#error full
