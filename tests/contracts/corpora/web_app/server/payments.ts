import { PaymentError } from "./errors";

export interface Receipt {
  reference: string;
  chargedCents: number;
}

/** Talks to the payment provider; an idempotency key prevents charging twice when a request is repeated. */
export class PaymentGateway {
  constructor(private readonly baseUrl: string, private readonly apiKey: string) {}

  async charge(token: string, cents: number): Promise<Receipt> {
    const response = await this.post("/charges", { token, amount: cents }, token);
    if (response.status === 402) {
      throw new PaymentError("card declined");
    }
    const body = await response.json();
    return { reference: body.id, chargedCents: body.amount };
  }

  async refund(reference: string): Promise<void> {
    const response = await this.post(`/charges/${reference}/refund`, {}, reference);
    if (!response.ok) {
      throw new PaymentError("refund rejected");
    }
  }

  private post(path: string, body: object, idempotencyKey: string): Promise<Response> {
    return fetch(this.baseUrl + path, {
      method: "POST",
      headers: { Authorization: `Bearer ${this.apiKey}`, "Idempotency-Key": idempotencyKey },
      body: JSON.stringify(body),
    });
  }
}
