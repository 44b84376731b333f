// An expression parser by recursive descent, with its place in the text in a variable of the file.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char *p;
static double expr(void);
static void skip(void)
{
    while (isspace((unsigned char)*p))
        p++;
}
static double primary(void)
{
    skip();
    if (*p == '(') {
        p++;
        double v = expr();
        skip();
        if (*p == ')')
            p++;
        return v;
    }
    if (*p == '-') {
        p++;
        return -primary();
    }
    if (isalpha((unsigned char)*p)) {
        char name[8];
        int n = 0;
        while (isalpha((unsigned char)*p) && n < 7)
            name[n++] = *p++;
        name[n] = 0;
        double v = primary();
        if (!strcmp(name, "sqrt"))
            return sqrt(v);
        if (!strcmp(name, "floor"))
            return floor(v);
        if (!strcmp(name, "abs"))
            return fabs(v);
        fprintf(stderr, "no function %s\n", name);
        exit(2);
    }
    char *end;
    double v = strtod(p, &end);
    if (end == p) {
        fprintf(stderr, "error at '%s'\n", p);
        exit(1);
    }
    p = end;
    return v;
}
static double power(void)
{
    double b = primary();
    skip();
    if (*p == '^') {
        p++;
        double e = power();
        double r = 1;
        for (int i = 0; i < (int)e; i++)
            r *= b;
        return r;
    }
    return b;
}
static double term(void)
{
    double v = power();
    for (;;) {
        skip();
        if (*p == '*') {
            p++;
            v *= power();
        } else if (*p == '/') {
            p++;
            v /= power();
        } else if (*p == '%') {
            p++;
            v = fmod(v, power());
        } else
            return v;
    }
}
static double expr(void)
{
    double v = term();
    for (;;) {
        skip();
        if (*p == '+') {
            p++;
            v += term();
        } else if (*p == '-') {
            p++;
            v -= term();
        } else
            return v;
    }
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        p = argv[i];
        double v = expr();
        int e;
        double m = frexp(v, &e);
        printf("%s = %.15g (%a = %g * 2^%d)\n", argv[i], v, v, m, e);
    }
    char buf[64];
    while (fgets(buf, sizeof buf, stdin)) {
        buf[strcspn(buf, "\n")] = 0;
        p = buf;
        printf("%s = %g\n", buf, expr());
    }
    return 0;
}
