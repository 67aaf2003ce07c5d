#ifndef PACKRAT_RING_H
#define PACKRAT_RING_H

#include <stddef.h>
#include <stdint.h>

#define RING_CAPACITY 4096

struct ring {
    uint8_t bytes[RING_CAPACITY];
    size_t head;
    size_t tail;
};

void ring_init(struct ring *ring);
size_t ring_write(struct ring *ring, const uint8_t *data, size_t length);
size_t ring_read(struct ring *ring, uint8_t *out, size_t length);

#endif
