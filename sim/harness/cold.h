// Included first by a model that is one file: what it runs once is up to half of its code, and is not optimised.
#include "verilated.h"
#ifndef __clang__
#undef VL_ATTR_COLD
#define VL_ATTR_COLD __attribute__((__cold__, __optimize__(0)))
#endif
