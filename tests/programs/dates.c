// Dates, roman numbers, a bank of static counters, tables of tables, bit-fields, the comma
// operator.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct date {
    unsigned day : 5, month : 4, year : 12;
};
typedef struct month {
    const char *name, *alternatives[2];
    int days;
} month;
static const month months[12] = {
    {"January", {"Jan", "1"}, 31},   {"February", {"Feb", "2"}, 28},
    {"March", {"Mar", "3"}, 31},     {"April", {"Apr", "4"}, 30},
    {"May", {"May", "5"}, 31},       {"June", {"Jun", "6"}, 30},
    {"July", {"Jul", "7"}, 31},      {"August", {"Aug", "8"}, 31},
    {"September", {"Sep", "9"}, 30}, {"October", {"Oct", "10"}, 31},
    {"November", {"Nov", "11"}, 30}, {"December", {"Dec", "12"}, 31},
};
static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const month *const quarter[4] = {&months[0], months + 3, &months[6], &months[9]};
static const struct {
    int value;
    char text[3];
} romans[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
              {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};

static int is_leap(int y)
{
    return (y % 4 == 0 && y % 100) || y % 400 == 0;
}
static int calls(void)
{
    static int count = 40;
    return count++;
}
static int days_of(int m, int y)
{
    return months[m - 1].days + (m == 2 && is_leap(y));
}

static long day_number(struct date d)
{
    long n = 0;
    for (int y = 1970; y < d.year; y++)
        n += 365 + is_leap(y);
    for (int m = 1; m < d.month; m++)
        n += days_of(m, d.year);
    return n + d.day - 1;
}

static char *roman(int n)
{
    static char out[32];
    char *end = out;
    for (size_t i = 0; n; i++)
        while (n >= romans[i].value)
            end += sprintf(end, "%s", romans[i].text), n -= romans[i].value;
    return out;
}

static int find_month(const char *name)
{
    for (int m = 0; m < 12; m++) {
        const month *const it = months + m;
        if (!strncmp(it->name, name, strlen(name)))
            return m + 1;
        for (size_t k = 0; k < 2; ++k)
            if (!strcmp(it->alternatives[k], name))
                return m + 1;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct date dates[] = {
        {1, 1, 1970}, {29, 2, 2000}, {31, 12, 2026}, {.year = 2038, .day = 19, .month = 1}};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        long n = day_number(dates[i]);
        printf("%s %2u %-9s %u is day %ld, year %s\n", weekdays[(n + 3) % 7], dates[i].day,
               months[dates[i].month - 1].name, dates[i].year, n, roman(dates[i].year));
    }
    for (int q = 0; q < 4; q++)
        printf("%s(%s)%c", quarter[q]->name, quarter[q]->alternatives[q & 1], q < 3 ? ' ' : '\n');
    for (int i = 1; i < argc; i++)
        printf("%s: %d\n", argv[i], find_month(argv[i]));
    calls(), calls();
    return calls();
}
