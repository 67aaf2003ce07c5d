import type { Booking } from "./bookings";

const SENDER = "tickets@seatplan.example";

/** Send the confirmation with one line per seat. */
export async function sendConfirmation(recipient: string, booking: Booking): Promise<void> {
  const lines = booking.seats.map((seat) => `- Seat ${seat}`);
  await deliver(recipient, `Your tickets, booking ${booking.id}`, lines.join("\n"));
}

async function deliver(recipient: string, subject: string, body: string): Promise<void> {
  await fetch("http://mail/send", {
    method: "POST",
    body: JSON.stringify({ from: SENDER, to: recipient, subject, body }),
  });
}
