import { addToCart, cartTotal, onCartChange } from "./cart.js";
import { formatDate } from "./vendor/tinydate.js";

/** Draw the performance list and connect the checkout button. */
async function boot() {
  const response = await fetch("/performances");
  const list = document.querySelector("#performances");
  for (const performance of await response.json()) {
    const item = document.createElement("li");
    item.textContent = `${performance.title}, ${formatDate(performance.startsAt)}`;
    list.append(item);
  }
  document.querySelector("#checkout").addEventListener("click", checkout);
  onCartChange((cart) => {
    document.querySelector("#total").textContent = (cartTotal(cart) / 100).toFixed(2);
  });
}

export async function checkout() {
  const response = await fetch("/bookings", { method: "POST" });
  if (response.status === 409) {
    showToast("Sorry, one of your seats was just taken.");
  }
}

function showToast(message) {
  const toast = document.querySelector("#toast");
  toast.textContent = message;
  toast.classList.add("visible");
  setTimeout(() => toast.classList.remove("visible"), 4000);
}

boot();
export { addToCart };
