"use strict";
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

  // What a heatmap shows under the pointer, or where the arrow keys went.
  for (const map of document.querySelectorAll("svg[data-cells]")) {
    const data = JSON.parse(document.getElementById(map.dataset.cells).textContent);
    const told = document.getElementById(`${map.dataset.cells}-at`);
    let x = 0, y = 0;
    const show = () => {
      let rest = x, state = "";
      for (const [length, name] of data.cells[y]) { if (rest < length) { state = name; break; } rest -= length; }
      told.textContent = `${data.rows[y]} · ${data.times[x]} · ${data.names[state] || ""}`;
    };
    map.addEventListener("mousemove", (event) => {
      const box = map.getBoundingClientRect();
      x = Math.min(data.times.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * data.times.length)));
      y = Math.min(data.rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * data.rows.length)));
      show();
    });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      x = Math.min(data.times.length - 1, Math.max(0, x + step[0]));
      y = Math.min(data.rows.length - 1, Math.max(0, y + step[1]));
      show();
    });
  }
})();
