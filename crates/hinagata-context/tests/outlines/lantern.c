/* Lanterns. */
#include <stdio.h>
#include <stdlib.h>
#include "lantern.h"

#define MAX_OIL 100
#define BURN(lantern, hours)                 \
    do {                                     \
        (lantern)->oil -= (hours) * 7;       \
        if ((lantern)->oil < 0) {            \
            (lantern)->oil = 0;              \
        }                                    \
    } while (0)

typedef struct lantern {
    const char *owner;
    int oil;
    struct lantern *next;
} lantern_t;

enum place { GATE, WELL, MILL };

static const char *const places[] = {
    "gate",
    "well",
    "mill",
    "bridge",
    "tower {",
    "harbour }",
};

struct carrier;
extern int carry(struct carrier *who, lantern_t *what);
static void (*on_drop)(lantern_t *);

/*
 * Makes a lantern.
 *
 * The caller frees it. A lantern without an owner is nobody's, and whoever
 * finds it may keep it.
 */
struct lantern *lantern_new(const char *owner)
{
    struct lantern *made = malloc(sizeof(*made));
    if (!made)
        return NULL;
    *made = (struct lantern){ .owner = owner, .oil = MAX_OIL };
    return made;
}

static inline int
lantern_burn(lantern_t *lantern,
             int hours)
{
    char sign = '}', quote = '\'', other = '"';
#ifdef WINTER
    if (hours > 3) {
#else
    if (hours > 6) {
#endif
        return sign + quote + other;
    }
    BURN(lantern, hours);
    return lantern->oil;
}

#if 0
This is not compiled, so it doesn't have to make sense {
#endif

#ifdef __cplusplus
extern "C" {
#endif

int main(int argc, char **argv)
{
    // a comment with an apostrophe: don't
    printf("%s {\n", argv[argc - 1]);
    printf("%d\n", lantern_burn(lantern_new("Ada"), 1));
    return 0;
}

#ifdef __cplusplus
}
#endif
