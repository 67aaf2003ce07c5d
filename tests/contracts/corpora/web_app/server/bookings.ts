import { Pool } from "pg";
import { HttpError } from "./errors";
import { sendConfirmation } from "./mailer";
import { PaymentGateway } from "./payments";

export interface Booking {
  id: number;
  performanceId: number;
  seats: string[];
  totalCents: number;
}

const CANCELLATION_DEADLINE_HOURS = 2;

export class BookingService {
  constructor(private readonly pool: Pool, private readonly gateway: PaymentGateway) {}

  /** Charge the customer and turn a hold into a booking; the hold survives a failed payment. */
  async createBooking(holdId: string, paymentToken: string): Promise<Booking> {
    const hold = await this.loadHold(holdId);
    if (hold.expiresAt < new Date()) {
      throw new HttpError(410, "hold expired");
    }
    const receipt = await this.gateway.charge(paymentToken, hold.totalCents);
    const booking = await this.insertBooking(hold, receipt.reference);
    await sendConfirmation(hold.email, booking);
    return booking;
  }

  /** Cancel a booking and refund it, until two hours before the performance begins. */
  async cancelBooking(bookingId: number, now: Date = new Date()): Promise<void> {
    const booking = await this.loadBooking(bookingId);
    const hours = (booking.startsAt.getTime() - now.getTime()) / 3_600_000;
    if (hours < CANCELLATION_DEADLINE_HOURS) {
      throw new HttpError(422, "too late to cancel");
    }
    await this.gateway.refund(booking.paymentReference);
    await this.pool.query("DELETE FROM booking WHERE id = $1", [bookingId]);
  }

  private async loadHold(holdId: string) {
    const result = await this.pool.query("SELECT * FROM hold WHERE id = $1", [holdId]);
    if (result.rows.length === 0) {
      throw new HttpError(404, "no such hold");
    }
    return result.rows[0];
  }

  private async loadBooking(bookingId: number) {
    const result = await this.pool.query("SELECT * FROM booking WHERE id = $1", [bookingId]);
    if (result.rows.length === 0) {
      throw new HttpError(404, "no such booking");
    }
    return result.rows[0];
  }

  private async insertBooking(hold: any, reference: string): Promise<Booking> {
    const client = await this.pool.connect();
    try {
      await client.query("BEGIN");
      const result = await client.query(
        "INSERT INTO booking (performance_id, seats, total_cents, payment_reference) VALUES ($1, $2, $3, $4) RETURNING id",
        [hold.performanceId, hold.seats, hold.totalCents, reference],
      );
      await client.query("DELETE FROM hold WHERE id = $1", [hold.id]);
      await client.query("COMMIT");
      return { id: result.rows[0].id, performanceId: hold.performanceId, seats: hold.seats, totalCents: hold.totalCents };
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  }
}
