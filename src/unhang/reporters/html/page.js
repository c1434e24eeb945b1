(() => {
  const root = document.documentElement, told = document.getElementById("told");
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  });

  async function copy(text) {
    try { await navigator.clipboard.writeText(text); return; } catch { /* a page from a file may not */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const label = button.textContent;
      await copy(document.getElementById(button.dataset.copy).textContent);
      button.textContent = told.textContent = root.dataset.copied;
      setTimeout(() => { button.textContent = label; told.textContent = ""; }, 2000);
    });
  }

  const closed = () => document.querySelectorAll("details:not([open])");
  let opened = [];
  addEventListener("beforeprint", () => { opened = [...closed()]; for (const one of opened) one.open = true; });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  for (const map of document.querySelectorAll("svg[data-cells]")) readHeat(map);
})();
