declare namespace Express {
  interface Request {
    customerId?: string;
  }
}
