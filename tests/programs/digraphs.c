// The other spellings of brackets, braces and hashes.
// clang-format off
%:include <stdio.h>
%:define paste(x, y) x %:%: y
%:define close(x, y) x%:%:y
%:define text(x) %\
:x
int main(void)
<%
    int list<:2:> = <% 3, 4 %>, ab = 5;
    printf("%d %d %d %d %s %s\n", list<:0:>, list<:1:>, paste(a, b), close(a, b), text(<:\
:>), text(%:%\
:));
    return 7 %2;
%>
