import { Pool } from "pg";
import { ConflictError } from "./errors";

export type SeatState = "free" | "held" | "sold";

export interface Seat {
  row: string;
  number: number;
  priceCents: number;
  state: SeatState;
}

const UNIQUE_VIOLATION = "23505";

export class SeatMapService {
  constructor(private readonly pool: Pool, private readonly holdMinutes: number) {}

  /** List the seats of a performance with their current state. */
  async listSeats(performanceId: number): Promise<Seat[]> {
    const result = await this.pool.query("SELECT * FROM seat_state WHERE performance_id = $1", [performanceId]);
    return result.rows;
  }

  /** Hold seats for a few minutes; the unique index makes sure that only one customer gets each. */
  async holdSeats(performanceId: number, seats: string[], email: string): Promise<string> {
    const expiresAt = new Date(Date.now() + this.holdMinutes * 60_000);
    try {
      const result = await this.pool.query("SELECT place_hold($1, $2, $3, $4) AS id", [
        performanceId,
        seats,
        email,
        expiresAt,
      ]);
      return result.rows[0].id;
    } catch (error: any) {
      if (error.code === UNIQUE_VIOLATION) {
        throw new ConflictError(seats);
      }
      throw error;
    }
  }

  /** Release holds that nobody paid for in time. */
  async releaseExpiredHolds(now: Date = new Date()): Promise<number> {
    const result = await this.pool.query("DELETE FROM hold WHERE expires_at < $1", [now]);
    return result.rowCount ?? 0;
  }
}

/** Sum the prices of seats, with ten percent off for groups of ten and more. */
export function totalPrice(seats: Seat[]): number {
  const sum = seats.reduce((total, seat) => total + seat.priceCents, 0);
  return seats.length >= 10 ? Math.round(sum * 0.9) : sum;
}
