// Runs before the page is drawn, so that a chosen theme does not flash.
export {};

try {
  const chosen = localStorage.getItem("openwmma-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the page follows the system.
}
