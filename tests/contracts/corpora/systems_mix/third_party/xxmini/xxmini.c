/* xxmini: a tiny non-cryptographic hash. Public domain. */
#include <stddef.h>
#include <stdint.h>

#define PRIME1 2654435761u
#define PRIME2 2246822519u

uint32_t xxmini_hash(const uint8_t *data, size_t length, uint32_t seed) {
    uint32_t hash = seed + PRIME1;
    for (size_t i = 0; i < length; i++) {
        hash += data[i] * PRIME2;
        hash = (hash << 13) | (hash >> 19);
        hash *= PRIME1;
    }
    return hash ^ (hash >> 15);
}
