import React, { useMemo, useState } from "react";
import type { Seat } from "./api.generated";

interface SeatMapProps {
  seats: Seat[];
  onSelect: (seat: Seat) => void;
}

/** Draws one circle per seat; sold seats cannot be clicked. */
export function SeatMap({ seats, onSelect }: SeatMapProps) {
  const [hovered, setHovered] = useState<string | null>(null);
  const rows = useMemo(() => groupByRow(seats), [seats]);
  return (
    <svg className="seat-map" viewBox="0 0 800 600">
      {Object.entries(rows).map(([row, members]) => (
        <g key={row}>
          {members.map((seat) => (
            <circle
              key={seat.number}
              className={`seat ${seat.state} ${hovered === seat.row ? "hovered" : ""}`}
              onMouseEnter={() => setHovered(seat.row)}
              onClick={() => seat.state === "free" && onSelect(seat)}
            />
          ))}
        </g>
      ))}
    </svg>
  );
}

export function groupByRow(seats: Seat[]): Record<string, Seat[]> {
  const rows: Record<string, Seat[]> = {};
  for (const seat of seats) {
    (rows[seat.row] ??= []).push(seat);
  }
  return rows;
}
