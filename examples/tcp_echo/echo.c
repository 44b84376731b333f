// A TCP server that sends back what it gets, and a client of it; both are kernels. The server takes
// any free port and leaves its number in a file.
#include <stdio.h>

#include <kiln/io.h>

kernel block(1) void serve(i32 clients)
{
    u8 data[256];
    i32 listener = io_listen("127.0.0.1", 0, 16);
    FILE *file = fopen("work/port.new", "w");
    if (listener < 0 || !file)
        io_exit(1);
    fprintf(file, "%d\n", io_port(listener));
    fclose(file);
    rename("work/port.new", "work/port.txt");
    for (i32 c = 0; c < clients; c++) {
        i32 client = io_accept(listener, 60000);
        io_option(client, IO_READ_TIMEOUT, 60000);
        for (i64 n; (n = io_read(client, data, 256)) > 0;)
            io_write(client, data, n);
        io_close(client);
    }
    io_close(listener);
}

kernel block(1) void ask(void)
{
    u8 data[64];
    i32 port = 0;
    FILE *file = fopen("work/port.txt", "r");
    if (!file || fscanf(file, "%d", &port) != 1)
        io_exit(1);
    fclose(file);
    i32 server = io_connect("127.0.0.1", port, 10000);
    io_write(server, "is anybody there?\n", 18);
    io_option(server, IO_SHUT_DOWN, 1);
    for (i64 n; (n = io_read(server, data, 64)) > 0;)
        io_write(IO_STDOUT, data, n);
    io_close(server);
}
