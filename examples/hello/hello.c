// Every thread says where it is. The text is laid out by the host, or, where the format is known
// only to the device, by the thread itself.
#include <stdio.h>

#include <kiln/kernel.h>

kernel block(4) void hello(void)
{
    printf("hello from thread %u of block %u\n", thread_x(), block_x());
}
