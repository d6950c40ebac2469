// The button that changes between the light and the dark theme.
import { required } from "../components/dom";

type Theme = "light" | "dark";

const KEY = "openwmma-theme";

function shown(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then lasts as long as the page.
  }
}

/** Connects the button of the page's header. */
export function connectThemeToggle(): void {
  const button = required("#theme-toggle", HTMLButtonElement);
  const label = (): void => {
    button.textContent = shown() === "dark" ? "Light theme" : "Dark theme";
  };
  button.addEventListener("click", () => {
    const theme: Theme = shown() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
}
