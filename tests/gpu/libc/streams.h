// One program over files that a kernel and the host run: the test compares what they leave.
#ifndef KILN_TEST_LIBC_STREAMS_H
#define KILN_TEST_LIBC_STREAMS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_RESULTS = 80 };

// Lines of any length, and places that are kept.
static inline void use_lines(int32_t *out)
{
    char *line = NULL;
    size_t room = 0;
    long length;
    int32_t n = 0, sum = 0, count = 0;
    fpos_t second;
    FILE *in = fopen("files/renamed.txt", "r");
    if (!in)
        return;
    out[n++] = setvbuf(in, NULL, _IOFBF, BUFSIZ) + setvbuf(in, NULL, _IONBF, 0);
    setbuf(in, NULL);
    while ((length = getline(&line, &room, in)) >= 0) {
        sum = sum * 3 + (int32_t)length + line[length - 1] + (int32_t)strlen(line);
        if (++count == 1)
            out[n++] = fgetpos(in, &second);
    }
    out[n++] = sum;
    out[n++] = count;
    out[n++] = feof(in) != 0;
    out[n++] = fsetpos(in, &second);
    out[n++] = (int32_t)ftello(in);
    out[n++] = (int32_t)getline(&line, &room, in);
    out[n++] = fseeko(in, -3, SEEK_END) + (int32_t)getline(&line, &room, in);
    out[n++] = room > 700;
    free(line);
    fclose(in);
}

// The end of a file is one until it is forgotten, also when the file grows; a file to append to is
// at its end before anything is written.
static inline void use_ends(int32_t *out)
{
    int32_t n = 0;
    FILE *in = fopen("files/renamed.txt", "r"), *to = fopen("files/renamed.txt", "a");
    if (!in || !to)
        return;
    out[n++] = (int32_t)ftell(to);
    out[n++] = fseek(in, 0, SEEK_END);
    out[n++] = fgetc(in);
    out[n++] = fputc('g', to) + fclose(to);
    out[n++] = fgetc(in);
    clearerr(in);
    out[n++] = fgetc(in);
    out[n++] = fgetc(in);
    out[n++] = ungetc('u', in) + fgetc(in) + feof(in);
    fclose(in);
}

// Folders: the empty one is removed, the other one not; a stream of one fails to be read. A stream
// to write says why nothing can be read from it.
static inline void use_folders(int32_t *out)
{
    int32_t n = 0, number = 7;
    out[n++] = remove("files/full/") == 0 || errno != ENOTEMPTY;
    out[n++] = remove("files/full/empty");
    out[n++] = remove("files/full");
    out[n++] = remove("files/full") == 0 || errno != ENOENT;
    FILE *folder = fopen("files", "r"), *to = fopen("files/to.txt", "w");
    if (!folder || !to)
        return;
    errno = 0;
    out[n++] = fgetc(folder) == EOF && errno == EISDIR;
    out[n++] = ferror(folder) != 0;
    out[n++] = feof(folder) != 0;
    out[n++] = fclose(folder);
    errno = 0;
    out[n++] = fscanf(to, "%d", &number);
    out[n++] = number == 7 && errno == EBADF;
    out[n++] = fclose(to);
    out[n++] = remove("files/to.txt");
}

// Texts that are longer than what is laid out at once: whole, in parts, beside wide numbers.
static inline void use_long_texts(int32_t *out)
{
    enum { LONGEST = 3000 };
    static const int32_t lengths[] = {0, 1, 511, 512, 513, 1023, 1024, 1025, 2999};
    char *text = malloc(LONGEST);
    FILE *to = fopen("files/long.txt", "w+");
    uint32_t sum = 0;
    if (!text || !to)
        return;
    for (int32_t n = 0; n < 9; n++) {
        for (int32_t i = 0; i < lengths[n]; i++)
            text[i] = (char)('a' + (i * 7 + n) % 26);
        text[lengths[n]] = 0;
        out[0] += fprintf(to, "%s%.600s|%-1500s|%*s|%0900d%s%.700f|", text, text, text, 700 * n,
                          text, n, text, n / 7.0);
    }
    out[1] = (int32_t)ftell(to);
    rewind(to);
    for (int32_t c = fgetc(to); c != EOF; c = fgetc(to))
        sum = sum * 31 + (uint32_t)c;
    out[2] = (int32_t)sum;
    out[3] = fclose(to) + remove("files/long.txt");
    free(text);
}

// Works in the folder `files`, where in.txt is; every result goes to out[…].
static inline void use_streams(int32_t *out)
{
    char line[64], word[16];
    int32_t n = 0, number = 0;
    double real = 0;
    FILE *in = fopen("files/in.txt", "r"), *to = fopen("files/out.txt", "w+");
    out[n++] = in != NULL && to != NULL;
    if (!in || !to)
        return;
    for (int32_t k = 1; fgets(line, sizeof line, in); k++)
        fprintf(to, "%2d: %-12.10s|%8.3f|%x\n", k, line, k / 3.0, k * 77);
    out[n++] = feof(in) != 0;
    out[n++] = ferror(in) != 0;
    out[n++] = fgetc(in);
    rewind(in);
    out[n++] = feof(in) != 0;
    out[n++] = fscanf(in, "%d %lf %15s", &number, &real, word);
    out[n++] = number * 100 + (int32_t)(real * 10);
    out[n++] = (int32_t)strlen(word);
    out[n++] = (int32_t)ftell(in);
    out[n++] = fgetc(in);
    out[n++] = ungetc('Q', in);
    out[n++] = fgetc(in);
    out[n++] = (int32_t)fread(line, 3, 4, in);
    out[n++] = line[11];
    out[n++] = fseek(in, -4, SEEK_END);
    out[n++] = (int32_t)fread(line, 1, 60, in);
    out[n++] = feof(in) != 0;
    out[n++] = fseek(in, -1, SEEK_SET);
    out[n++] = errno == EINVAL;
    out[n++] = (int32_t)ftell(to) > 60;
    out[n++] = fseek(to, 4, SEEK_SET);
    out[n++] = (int32_t)fread(line, 1, 5, to);
    out[n++] = line[4];
    out[n++] = fseek(to, 0, SEEK_CUR);
    out[n++] = (int32_t)fwrite("WRITTEN", 1, 7, to);
    out[n++] = fputc('!', to);
    out[n++] = fputs("", to) >= 0;
    out[n++] = fflush(to);
    out[n++] = fclose(in) + fclose(to);
    to = fopen("files/out.txt", "a");
    out[n++] =
        fprintf(to, "%s %c %s\n", "more", 'x', "than fits: ................................");
    out[n++] = fprintf(to, "%700d\n", 5); // more than one piece
    fclose(to);
    out[n++] = rename("files/out.txt", "files/renamed.txt");
    out[n++] = remove("files/none.txt") != 0 && errno == ENOENT;
    out[n++] = fopen("files/none.txt", "r") == NULL && errno == ENOENT;
    out[n++] = fopen("files/renamed.txt", "wx") == NULL && errno == EEXIST;
    out[n++] = remove("files/gone.txt");
    use_lines(out + n);
    use_ends(out + 56);
    use_folders(out + 64);
    use_long_texts(out + 76);
}

#endif
