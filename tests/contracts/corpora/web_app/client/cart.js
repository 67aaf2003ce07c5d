const STORAGE_KEY = "seatplan.cart";
const listeners = new Set();

export function loadCart() {
  return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
}

/** Put a seat into the cart; a seat that is there already stays there once. */
export function addToCart(seat) {
  const cart = loadCart().filter((other) => other.id !== seat.id);
  cart.push(seat);
  localStorage.setItem(STORAGE_KEY, JSON.stringify(cart));
  listeners.forEach((listener) => listener(cart));
}

export const cartTotal = (cart) => cart.reduce((total, seat) => total + seat.priceCents, 0);

export function onCartChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
