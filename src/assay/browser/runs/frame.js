// What stands around the list of runs and the pages that say why there is nothing else.

import { fill, h } from "../common/dom.js";
import { themeSwitch } from "../common/page.js";

/** Build the frame into the page and give the place for its content. */
export function runsFrame(review = false) {
  const main = h("main.runs-main", { id: "content", tabindex: "-1" });
  const brand = h("a.brand", { href: "/" }, h("strong", "Assay"), h("span.suite", "runs"));
  const bar = h("header.topbar", [
    brand,
    h("span.spacer"),
    review ? h("a", { href: "/review" }, "Review gold") : null,
    themeSwitch(),
  ]);
  fill(document.getElementById("app"), bar, main, h("div", { id: "announcer", role: "status", "aria-live": "polite" }));
  return main;
}
