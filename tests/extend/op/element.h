// The number that a thread works on, and the factor. A macro may name what the kernel declares.
#define ELEMENT (x[at] * (f32)factor)
