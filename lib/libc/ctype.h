// <ctype.h> for kernels: the C locale, on the values of an unsigned char and EOF.
#pragma once

static int isdigit(int c)
{
    return c >= '0' && c <= '9';
}

static int isupper(int c)
{
    return c >= 'A' && c <= 'Z';
}

static int islower(int c)
{
    return c >= 'a' && c <= 'z';
}

static int isalpha(int c)
{
    return isupper(c) || islower(c);
}

static int isalnum(int c)
{
    return isalpha(c) || isdigit(c);
}

static int isxdigit(int c)
{
    return isdigit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

static int isblank(int c)
{
    return c == ' ' || c == '\t';
}

static int isspace(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int iscntrl(int c)
{
    return (c >= 0 && c < ' ') || c == 127;
}

static int isprint(int c)
{
    return c >= ' ' && c < 127;
}

static int isgraph(int c)
{
    return c > ' ' && c < 127;
}

static int ispunct(int c)
{
    return isgraph(c) && !isalnum(c);
}

static int toupper(int c)
{
    return islower(c) ? c - 'a' + 'A' : c;
}

static int tolower(int c)
{
    return isupper(c) ? c - 'A' + 'a' : c;
}

static int isascii(int c)
{
    return c >= 0 && c < 128;
}

static int toascii(int c)
{
    return c & 127;
}
