"use strict";
// Says what a heatmap shows under the pointer, or where the arrow keys went.
function readHeat(map) {
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
