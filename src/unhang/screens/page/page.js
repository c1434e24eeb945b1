// Shows what the stream says. Every text goes in by textContent: what ranks print is never markup.
"use strict";

const $ = (id) => document.getElementById(id);
const language = new URLSearchParams(location.search).get("lang");
const ask = (path) => fetch(address(path)).then((answer) => answer.json());
let words = {}, run = {}, following = true, heatmap = null;

function address(path) {
  const url = new URL(path, location.href);
  if (language) url.searchParams.set("lang", language);
  return url;
}

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${bytes.toFixed(unit && bytes < 100 ? 1 : 0)} ${units[unit]}`;
}

const share = (value) => (value === null || value === undefined ? "" : `${Math.round(value * 100)} %`);

// A column: key of its word, text of a row, class of its cells.
const COLUMNS = {
  classes: [
    ["ranks", (r) => r.ranks],
    ["condition", (r) => r.doing, (r) => (r.suspected ? "frozen" : r.condition)],
    ["phase", (r) => r.phase],
    ["place", (r) => r.place, () => "place"],
    ["since", (r) => duration(r.since_s), () => "number"],
  ],
  groups: [
    ["group", (g) => g.name],
    ["members", (g) => g.members],
    ["issued", (g) => g.issued, () => "number"],
    ["completed", (g) => g.completed, () => "number"],
    ["waiting", (g) => g.waiting, () => "waiting"],
    ["lacking", (g) => g.lacking, (g) => (g.lacking ? "frozen" : "")],
    ["since", (g) => duration(g.since_s), () => "number"],
    ["limit", (g) => duration(g.limit_s) + (g.governed ? " ⚖" : ""), () => "number"],
  ],
  ranks: [
    ["ranks", (r) => r.rank, () => "number"],
    ["host", (r) => r.host],
    ["condition", (r) => r.doing, (r) => (r.suspected ? "frozen" : r.condition)],
    ["phase", (r) => r.phase],
    ["place", (r) => r.place, () => "place"],
    ["since", (r) => duration(r.since_s), () => "number"],
    ["steps", (r) => r.steps, () => "number"],
    ["cpu", (r) => share(r.cpu), () => "number"],
    ["memory", (r) => size(r.memory), () => "number"],
    ["gpu", (r) => size(r.gpu), () => "number"],
    ["read", (r) => size(r.read), () => "number"],
    ["written", (r) => size(r.written), () => "number"],
    ["beat", (r) => duration(r.beat), () => "number"],
  ],
};

function table(id, rows) {
  const head = make("tr");
  for (const [word, , kind] of COLUMNS[id]) {
    head.append(make("th", words[`column.${word}`], kind && kind({}) === "number" ? "number" : ""));
  }
  const body = rows.map((row) => {
    const line = make("tr");
    for (const [, text, kind] of COLUMNS[id]) line.append(make("td", text(row), kind ? kind(row) : ""));
    return line;
  });
  $(id).replaceChildren(head, ...body);
}

function showNews(standing) {
  const worst = standing.suspicions[0];
  const news = $("news");
  news.className = worst ? worst.stage : "";
  const verdict = run.verdict;
  if (worst) {
    news.replaceChildren(make("strong", worst.title), make("p", worst.why));
  } else {
    news.replaceChildren(make("p", standing.ranks.length ? words.calm : words.nothing_yet));
  }
  if (verdict && verdict.summary && (!verdict.written_s || verdict.written_s <= standing.at + 2)) {
    const named = [verdict.outcome, verdict.cause].filter(Boolean).join(": ");
    news.append(make("p", `${named} — ${verdict.summary}`));
  }
}

function show(standing) {
  if (!standing) return;
  showNews(standing);
  table("classes", standing.classes);
  table("groups", standing.groups);
  table("ranks", standing.ranks);
  $("edges").replaceChildren(...standing.edges.map((edge) => make(
    "li", `${edge.waiters} → ${edge.on}   ${edge.call} ${edge.group}   ${duration(edge.since_s)}`)));
  $("hosts").replaceChildren(...standing.hosts.map((host) => make(
    "li", `${host.host}: ${host.ranks} (${duration(host.age_s)})`)));
  $("losses").hidden = standing.lost.length === 0;
  $("lost").replaceChildren(...standing.lost.map((text) => make("li", text)));
  $("clock").textContent = `${new Date(standing.at * 1000).toLocaleString()} · ${duration(standing.up_s)}`;
}

function showRun(news) {
  run = news;
  words = news.labels;
  document.documentElement.lang = news.language;
  document.title = `unhang: ${news.record.command}`;
  for (const element of document.querySelectorAll("[data-label]")) {
    element.textContent = words[element.dataset.label];
  }
  $("command").textContent = news.record.command;
  $("theme").title = words.theme;
  const state = news.live ? "live" : news.record.ended ? "finished" : "quiet";
  $("state").textContent = words[state === "quiet" ? "gone_quiet" : state];
  $("state").className = `badge ${state}`;
  $("replay").hidden = !news.span || news.span[1] - news.span[0] < 2;
}

function addEvents(events) {
  for (const event of events) {
    const line = make("li", null, event.kind);
    line.append(make("span", event.at.replace("T", " ").slice(0, 19), "quiet"));
    line.append(make("span", [event.kind, event.ranks].filter(Boolean).join(" ")));
    line.append(make("span", event.why));
    $("events").prepend(line);
  }
  while ($("events").childElementCount > 500) $("events").lastElementChild.remove();
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function cellColour(cell) {
  const [, condition] = cell;
  if (["gone", "frozen", "raising", "still"].includes(condition)) return colour("--bad");
  if (["stopped", "unseen"].includes(condition)) return colour("--cold");
  if (["left", "leaving"].includes(condition)) return colour("--line");
  return colour(cell[0] > 0 ? "--wait" : "--good");
}

function drawHeat(map) {
  heatmap = map;
  const canvas = $("heat"), side = 8, paper = canvas.getContext("2d");
  canvas.width = Math.max(map.columns.length, 1) * side;
  canvas.height = Math.max(map.rows.length, 1) * side;
  canvas.style.height = `${Math.min(map.rows.length * 16, 480)}px`;
  canvas.setAttribute("aria-label", `${words.heat}: ${map.rows.length} × ${map.columns.length}`);
  map.cells.forEach((row, y) => row.forEach((cell, x) => {
    if (!cell) return;
    paper.globalAlpha = cell[1] ? 1 : cell[0] > 0 ? 0.35 + 0.65 * cell[0] : 0.25;
    paper.fillStyle = cellColour(cell);
    paper.fillRect(x * side, y * side, side, side);
  }));
}

$("heat").addEventListener("mousemove", (event) => {
  if (!heatmap) return;
  const box = event.target.getBoundingClientRect();
  const x = Math.floor(((event.clientX - box.left) / box.width) * heatmap.columns.length);
  const y = Math.floor(((event.clientY - box.top) / box.height) * heatmap.rows.length);
  const cell = heatmap.cells[y] && heatmap.cells[y][x];
  $("cell").textContent = cell
    ? `${heatmap.rows[y]} · ${new Date(heatmap.columns[x] * 1000).toLocaleTimeString()} · `
      + `${words["column.waiting"]} ${share(cell[0])} ${cell[1] || ""} ${cell[2]}`
    : "";
});

$("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  if (heatmap) drawHeat(heatmap);
});

$("at").addEventListener("input", async () => {
  const part = Number($("at").value) / 1000;
  following = part === 1;
  const [first, last] = run.span;
  const at = first + (last - first) * part;
  $("when").textContent = new Date(at * 1000).toLocaleTimeString();
  const path = following ? "/api/standing" : `/api/standing?at=${at}`;
  show(await ask(path));
});

function follow() {
  const stream = new EventSource(address("/stream"));
  stream.addEventListener("open", () => $("events").replaceChildren());
  stream.addEventListener("run", (event) => showRun(JSON.parse(event.data)));
  stream.addEventListener("standing", (event) => { if (following) show(JSON.parse(event.data)); });
  stream.addEventListener("note", (event) => addEvents(JSON.parse(event.data)));
}

async function refreshHeat() {
  try { drawHeat(await ask("/api/heat")); } catch { /* the server is away: the next turn tries again */ }
}

follow();
refreshHeat();
setInterval(refreshHeat, 10000);
