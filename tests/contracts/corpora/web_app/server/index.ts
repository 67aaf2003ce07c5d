export { createApp } from "./app";
export { BookingService } from "./bookings";
export { SeatMapService } from "./seats";
