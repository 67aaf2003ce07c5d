-- Performances and the seats that are for sale.
CREATE TABLE performance (
    id SERIAL PRIMARY KEY,
    title TEXT NOT NULL,
    starts_at TIMESTAMP NOT NULL
);

CREATE TABLE seat (
    performance_id INTEGER NOT NULL REFERENCES performance (id),
    seat_row TEXT NOT NULL,
    seat_number INTEGER NOT NULL,
    price_cents INTEGER NOT NULL,
    PRIMARY KEY (performance_id, seat_row, seat_number)
);

-- A paid order.
CREATE TABLE booking (
    id SERIAL PRIMARY KEY,
    performance_id INTEGER NOT NULL REFERENCES performance (id),
    seats TEXT NOT NULL,
    total_cents INTEGER NOT NULL,
    payment_reference TEXT NOT NULL
);

CREATE VIEW upcoming AS
SELECT id, title FROM performance WHERE starts_at > CURRENT_TIMESTAMP;
