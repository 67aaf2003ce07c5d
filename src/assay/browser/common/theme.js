// Light, dark, or as the system has it. The choice lives as long as the page; `theme=` in an address sets it.

import { h } from "./dom.js";

const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" };

/** Set the theme of the page. */
export function setTheme(name) {
  const theme = THEMES.includes(name) ? name : "auto";
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll(".theme-switch")) labelThemeSwitch(button);
}

/** Name the theme of the page. */
export function currentTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** Take the next theme. */
export function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
}

/** Make the button that takes the next theme; `changed` is told after it. */
export function themeSwitch(changed = () => {}) {
  const button = h("button.quiet-button.theme-switch", {
    onclick: () => {
      nextTheme();
      changed();
    },
  });
  labelThemeSwitch(button);
  return button;
}

/** Write on a switch which theme holds. */
function labelThemeSwitch(button) {
  button.textContent = `${THEME_SIGNS[currentTheme()]} ${currentTheme()}`;
  button.setAttribute("aria-label", `Colours: ${currentTheme()}. Change`);
  button.title = "Light, dark, or as the system has it";
}
