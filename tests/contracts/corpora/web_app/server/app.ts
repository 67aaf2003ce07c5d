import express, { Request, Response, NextFunction } from "express";
import { BookingService } from "./bookings";
import { ConflictError, HttpError } from "./errors";
import { rateLimit } from "./middleware/rateLimit";
import { SeatMapService } from "./seats";

/** Wire the routes; services are passed in so that tests can replace them. */
export function createApp(seats: SeatMapService, bookings: BookingService) {
  const app = express();
  app.use(express.json());
  app.use(rateLimit({ windowMs: 60_000, max: 100 }));

  app.get("/performances/:id/seats", async (request: Request, response: Response) => {
    response.json(await seats.listSeats(Number(request.params.id)));
  });

  app.post("/bookings", async (request: Request, response: Response) => {
    const booking = await bookings.createBooking(request.body.holdId, request.body.paymentToken);
    response.status(201).json(booking);
  });

  app.use(handleError);
  return app;
}

/** Turn exceptions into JSON; what is not an HttpError is logged and hidden from the client. */
export function handleError(error: Error, _request: Request, response: Response, _next: NextFunction) {
  if (error instanceof ConflictError) {
    response.status(409).json({ error: "seat already taken", seats: error.seats });
    return;
  }
  if (error instanceof HttpError) {
    response.status(error.status).json({ error: error.message });
    return;
  }
  console.error("unhandled error", error);
  response.status(500).json({ error: "internal server error" });
}
