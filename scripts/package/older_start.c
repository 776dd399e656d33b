// The start of a program that is linked for an older glibc (older_glibc.py): it calls the
// constructors of the program, as glibc does itself from 2.34 on.
#include <stddef.h>

typedef void Constructor(int argc, char** argv, char** environment);
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((weak));

static void call_constructors(int argc, char** argv, char** environment) {
  if (_init != NULL) _init();
  for (Constructor** one = __init_array_start; one != __init_array_end; ++one) {
    (*one)(argc, argv, environment);
  }
}

typedef int Main(int argc, char** argv, char** environment);
extern int __libc_start_main(Main* main, int argc, char** argv, Constructor* init,
                             void (*fini)(void), void (*end_of_loader)(void), void* end_of_stack);

// In the place of __libc_start_main, which is not told of constructors.
int start_for_older_glibc(Main* main, int argc, char** argv, Constructor* init, void (*fini)(void),
                          void (*end_of_loader)(void), void* end_of_stack) {
  (void)init;
  return __libc_start_main(main, argc, argv, call_constructors, fini, end_of_loader, end_of_stack);
}
