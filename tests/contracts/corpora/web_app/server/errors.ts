/** An error that the client may see. */
export class HttpError extends Error {
  constructor(public readonly status: number, message: string) {
    super(message);
    this.name = "HttpError";
  }
}

/** Somebody else was faster. */
export class ConflictError extends HttpError {
  constructor(public readonly seats: string[]) {
    super(409, `seats already taken: ${seats.join(", ")}`);
  }
}

/** The card was declined or the provider did not answer. */
export class PaymentError extends HttpError {
  constructor(reason: string) {
    super(402, `payment failed: ${reason}`);
  }
}
