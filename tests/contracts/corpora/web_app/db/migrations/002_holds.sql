-- Seats that somebody has put into the cart and not paid for yet.
CREATE TABLE hold (
    id TEXT PRIMARY KEY,
    performance_id INTEGER NOT NULL REFERENCES performance (id),
    seat TEXT NOT NULL,
    email TEXT NOT NULL,
    expires_at TIMESTAMP NOT NULL
);

CREATE UNIQUE INDEX hold_once ON hold (performance_id, seat);