import { describe, expect, it, vi } from "vitest";
import { BookingService } from "../server/bookings";
import { HttpError } from "../server/errors";

function poolReturning(rows: object[]) {
  return { query: vi.fn().mockResolvedValue({ rows }) } as any;
}

describe("BookingService", () => {
  it("refuses an expired hold", async () => {
    const pool = poolReturning([{ id: "h1", expiresAt: new Date(0) }]);
    const service = new BookingService(pool, { charge: vi.fn() } as any);
    await expect(service.createBooking("h1", "tok")).rejects.toThrow("hold expired");
  });

  it("does not cancel within two hours of the performance", async () => {
    const startsAt = new Date("2024-05-01T20:00:00Z");
    const service = new BookingService(poolReturning([{ startsAt }]), { refund: vi.fn() } as any);
    const call = service.cancelBooking(7, new Date("2024-05-01T19:00:00Z"));
    await expect(call).rejects.toBeInstanceOf(HttpError);
  });
});
