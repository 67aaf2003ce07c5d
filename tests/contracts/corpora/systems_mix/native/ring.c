#include "ring.h"

/* Start with an empty buffer. */
void ring_init(struct ring *ring) {
    ring->head = 0;
    ring->tail = 0;
}

static size_t ring_used(const struct ring *ring) {
    return (ring->head + RING_CAPACITY - ring->tail) % RING_CAPACITY;
}

/* Copy as much as fits and return how much that was; one byte always stays free. */
size_t ring_write(struct ring *ring, const uint8_t *data, size_t length) {
    size_t room = RING_CAPACITY - 1 - ring_used(ring);
    size_t count = length < room ? length : room;
    for (size_t i = 0; i < count; i++) {
        ring->bytes[ring->head] = data[i];
        ring->head = (ring->head + 1) % RING_CAPACITY;
    }
    return count;
}

/* Take out at most `length` bytes. */
size_t ring_read(struct ring *ring, uint8_t *out, size_t length) {
    size_t used = ring_used(ring);
    size_t count = length < used ? length : used;
    for (size_t i = 0; i < count; i++) {
        out[i] = ring->bytes[ring->tail];
        ring->tail = (ring->tail + 1) % RING_CAPACITY;
    }
    return count;
}
