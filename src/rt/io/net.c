// TCP, UDP and names for kernels. Sockets never block: every wait is a poll that ends with the
// time-out of the handle, or when the launch is cancelled.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rt/io/io.h"

typedef struct io_peer { // of kiln/io.h
    uint8_t address[16]; // IPv4 in the last four
    int32_t port;
    int32_t is_v6;
} io_peer;

enum { HOST_NAME = 256 };

// "host:port", allowed or refused.
static bool may_reach(io_state *s, const char *host, int32_t port)
{
    char asked[HOST_NAME + 16];
    snprintf(asked, sizeof asked, "%s:%d", host, (int)port);
    return io_may(s, IO_NET, asked);
}

static int32_t lookup_error(int code)
{
    return code == EAI_MEMORY   ? -ENOMEM
           : code == EAI_AGAIN  ? -EAGAIN
           : code == EAI_SYSTEM ? -errno
                                : -ENOENT;
}

// The first address of the name; 0 or -errno.
static int32_t look_up(const char *host, int32_t port, int type, struct addrinfo **out)
{
    char service[16];
    if (port < 0 || port > 65535)
        return -EINVAL;
    snprintf(service, sizeof service, "%d", (int)port);
    struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_NUMERICSERV};
    int failed = getaddrinfo(host, service, &hints, out);
    return failed ? lookup_error(failed) : 0;
}

static int open_socket(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

static bool host_of(const kiln_host_call *call, uint32_t index, char *out, size_t size)
{
    return io_text(call, index, IO_ARG(int64_t, index + 1), out, size);
}

static int connect_to(const io_state *s, const struct addrinfo *a, int32_t timeout_ms)
{
    int fd = open_socket(a), failed = 0, why = 0;
    socklen_t size = sizeof why;
    if (fd < 0)
        return fd;
    if (connect(fd, a->ai_addr, a->ai_addrlen))
        failed = errno == EINPROGRESS ? io_wait(s, fd, POLLOUT, timeout_ms) : -errno;
    if (!failed && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size))
        failed = -why;
    if (!failed)
        return fd;
    close(fd);
    return failed;
}

void service_connect(void *state, const kiln_host_call *call)
{
    char host[HOST_NAME];
    struct addrinfo *found = NULL;
    int32_t port = IO_ARG(int32_t, 2);
    if (!host_of(call, 0, host, sizeof host))
        IO_RETURN(int32_t, -EINVAL);
    if (!may_reach(state, host, port))
        IO_RETURN(int32_t, -EACCES);
    int fd = look_up(host, port, SOCK_STREAM, &found);
    if (fd)
        IO_RETURN(int32_t, fd);
    fd = -ECONNREFUSED;
    for (const struct addrinfo *a = found; a && fd < 0 && fd != -ETIMEDOUT && fd != -ECANCELED;
         a = a->ai_next)
        fd = connect_to(state, a, IO_ARG(int32_t, 3));
    freeaddrinfo(found);
    IO_RETURN(int32_t, fd < 0 ? fd : io_add(state, IO_STREAM, fd, NULL));
}

static int32_t bound(io_state *s, const kiln_host_call *call, int type, int32_t backlog)
{
    char host[HOST_NAME];
    struct addrinfo *found = NULL;
    int32_t port = IO_ARG(int32_t, 2);
    int one = 1;
    if (!host_of(call, 0, host, sizeof host))
        return -EINVAL;
    if (!may_reach(s, host, port))
        return -EACCES;
    int fd = look_up(host, port, type, &found);
    if (fd)
        return fd;
    fd = open_socket(found);
    bool is_tcp = type == SOCK_STREAM;
    if (fd >= 0 &&
        ((is_tcp && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one)) ||
         bind(fd, found->ai_addr, found->ai_addrlen) || (is_tcp && listen(fd, backlog)))) {
        int why = errno;
        close(fd);
        fd = -why;
    }
    freeaddrinfo(found);
    return fd < 0 ? fd : io_add(s, is_tcp ? IO_LISTENER : IO_DATAGRAM, fd, NULL);
}

void service_listen(void *state, const kiln_host_call *call)
{
    int32_t backlog = IO_ARG(int32_t, 3);
    IO_RETURN(int32_t, bound(state, call, SOCK_STREAM, backlog < 1 ? 1 : backlog));
}

void service_datagram(void *state, const kiln_host_call *call)
{
    IO_RETURN(int32_t, bound(state, call, SOCK_DGRAM, 0));
}

void service_accept(void *state, const kiln_host_call *call)
{
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), 1u << IO_LISTENER);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int fd = -EAGAIN;
    while (fd == -EAGAIN || fd == -EINTR || fd == -ECONNABORTED) {
        int ready = io_wait(state, h->fd, POLLIN, IO_ARG(int32_t, 1));
        fd = ready ? ready : accept4(h->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (!ready && fd < 0)
            fd = -errno;
    }
    io_give(state, h);
    IO_RETURN(int32_t, fd < 0 ? fd : io_add(state, IO_STREAM, fd, NULL));
}

void service_send_to(void *state, const kiln_host_call *call)
{
    char host[HOST_NAME];
    struct addrinfo *found = NULL;
    int64_t n = io_bytes(IO_ARG(int64_t, 2));
    int32_t port = IO_ARG(int32_t, 5);
    if (n < 0 || !host_of(call, 3, host, sizeof host))
        IO_RETURN(int64_t, -EINVAL);
    if (!may_reach(state, host, port))
        IO_RETURN(int64_t, -EACCES);
    int64_t done = look_up(host, port, SOCK_DGRAM, &found);
    if (done)
        IO_RETURN(int64_t, done);
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), 1u << IO_DATAGRAM);
    do { // another one's datagram may take the room
        done = h ? io_wait(state, h->fd, POLLOUT, h->timeout_ms[1]) : -EBADF;
        if (!done) {
            done = sendto(h->fd, call->args[1], (size_t)n, MSG_NOSIGNAL, found->ai_addr,
                          found->ai_addrlen);
            done = done < 0 ? -errno : done;
        }
    } while (done == -EAGAIN || done == -EINTR);
    if (h)
        io_give(state, h);
    freeaddrinfo(found);
    IO_RETURN(int64_t, done);
}

void service_receive_from(void *state, const kiln_host_call *call)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } from;
    socklen_t size = sizeof from;
    int64_t n = io_bytes(IO_ARG(int64_t, 2));
    io_handle *h = n < 0 ? NULL : io_take(state, IO_ARG(int32_t, 0), 1u << IO_DATAGRAM);
    if (!h)
        IO_RETURN(int64_t, n < 0 ? -EINVAL : -EBADF);
    int64_t done;
    do { // another one may be faster
        done = io_wait(state, h->fd, POLLIN, h->timeout_ms[0]);
        if (!done) {
            done = recvfrom(h->fd, call->args[1], (size_t)n, 0, &from.any, &size);
            done = done < 0 ? -errno : done;
        }
    } while (done == -EAGAIN || done == -EINTR);
    io_give(state, h);
    if (done >= 0) {
        io_peer peer = {{0}, 0, from.any.sa_family == AF_INET6};
        if (peer.is_v6)
            memcpy(peer.address, &from.v6.sin6_addr, 16);
        else
            memcpy(peer.address + 12, &from.v4.sin_addr, 4);
        peer.port = ntohs(peer.is_v6 ? from.v6.sin6_port : from.v4.sin_port);
        memcpy(call->args[3], &peer, sizeof peer);
    }
    IO_RETURN(int64_t, done);
}

void service_option(void *state, const kiln_host_call *call)
{
    int32_t which = IO_ARG(int32_t, 1), value = IO_ARG(int32_t, 2), result = 0;
    static const int rows[][2] = {{IPPROTO_TCP, TCP_NODELAY}, {SOL_SOCKET, SO_KEEPALIVE},
                                  {SOL_SOCKET, SO_RCVBUF},    {SOL_SOCKET, SO_SNDBUF},
                                  {SOL_SOCKET, SO_BROADCAST}, {SOL_SOCKET, SO_REUSEADDR}};
    enum { READ_TIMEOUT = 100, WRITE_TIMEOUT = 101, SHUTDOWN = 102 };
    io_handle *h =
        io_take(state, IO_ARG(int32_t, 0), 1u << IO_STREAM | 1u << IO_LISTENER | 1u << IO_DATAGRAM);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    if (which == READ_TIMEOUT || which == WRITE_TIMEOUT)
        h->timeout_ms[which - READ_TIMEOUT] = value < 0 ? -1 : value;
    else if (which == SHUTDOWN)
        result = value < 0 || value > 2 ? -EINVAL : shutdown(h->fd, value) ? -errno : 0;
    else if (which < 0 || which >= (int32_t)COUNT(rows))
        result = -EINVAL;
    else
        result =
            setsockopt(h->fd, rows[which][0], rows[which][1], &value, sizeof value) ? -errno : 0;
    io_give(state, h);
    IO_RETURN(int32_t, result);
}

void service_port(void *state, const kiln_host_call *call)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own;
    socklen_t size = sizeof own;
    io_handle *h =
        io_take(state, IO_ARG(int32_t, 0), 1u << IO_STREAM | 1u << IO_LISTENER | 1u << IO_DATAGRAM);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int32_t result = getsockname(h->fd, &own.any, &size) ? -errno : 0;
    io_give(state, h);
    if (!result)
        result = ntohs(own.any.sa_family == AF_INET6 ? own.v6.sin6_port : own.v4.sin_port);
    IO_RETURN(int32_t, result);
}

// The first address of a name, as text; its length.
void service_resolve(void *state, const kiln_host_call *call)
{
    char host[HOST_NAME], shown[INET6_ADDRSTRLEN + 8];
    struct addrinfo *found = NULL;
    int64_t cap = io_bytes(IO_ARG(int64_t, 3));
    if (cap < 0 || !host_of(call, 0, host, sizeof host))
        IO_RETURN(int32_t, -EINVAL);
    if (!may_reach(state, host, 0))
        IO_RETURN(int32_t, -EACCES);
    int32_t result = look_up(host, 0, SOCK_STREAM, &found);
    if (!result) {
        int failed = getnameinfo(found->ai_addr, found->ai_addrlen, shown, sizeof shown, NULL, 0,
                                 NI_NUMERICHOST);
        result = failed ? lookup_error(failed) : (int32_t)strlen(shown);
        freeaddrinfo(found);
    }
    if (result > cap)
        result = -ENAMETOOLONG;
    if (result > 0)
        memcpy(call->args[2], shown, (size_t)result);
    IO_RETURN(int32_t, result);
}
