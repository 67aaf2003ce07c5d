import { NextFunction, Request, Response } from "express";

export interface RateLimitOptions {
  windowMs: number;
  max: number;
}

/** Reject clients that send more than `max` requests per window with 429 Too Many Requests. */
export function rateLimit({ windowMs, max }: RateLimitOptions) {
  const seen = new Map<string, number[]>();
  return (request: Request, response: Response, next: NextFunction) => {
    const now = Date.now();
    const recent = (seen.get(request.ip ?? "") ?? []).filter((time) => now - time < windowMs);
    recent.push(now);
    seen.set(request.ip ?? "", recent);
    if (recent.length > max) {
      response.setHeader("Retry-After", Math.ceil(windowMs / 1000));
      response.status(429).json({ error: "too many requests" });
      return;
    }
    next();
  };
}
