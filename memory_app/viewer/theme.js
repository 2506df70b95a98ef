/* Light and dark, on the screen and on paper. */

/** Light or dark: as the system has it, until the button says otherwise. Paper is light. */
function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = byId("theme");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    graph?.recolour();
  };
  try {
    const kept = localStorage.getItem("memory-viewer-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // a browser that keeps nothing for local files
  }
  button.addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    root.dataset.theme = wanted;
    try {
      localStorage.setItem("memory-viewer-theme", wanted);
    } catch {
      // as above: it then holds for this visit
    }
    show();
  });
  system.addEventListener("change", show);
  window.matchMedia("(forced-colors: active)").addEventListener("change", show);
  let screen;
  window.addEventListener("beforeprint", () => {
    screen = root.dataset.theme;
    root.dataset.theme = "light";
    graph?.recolour(true);
    tables[state.rows].showEverything(state.view === "table");
    panel.everything = true;
    showPanel();
  });
  window.addEventListener("afterprint", () => {
    if (screen === undefined) delete root.dataset.theme;
    else root.dataset.theme = screen;
    tables[state.rows].showEverything(false);
    panel.everything = false;
    showPanel();
    show();
  });
  show();
}
