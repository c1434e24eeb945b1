// Shows what the stream says. Every text goes in by textContent: what ranks print is never markup. The
// drawing and the heatmap come as markup in which the server has escaped every text.

const $ = (id) => document.getElementById(id);
const language = new URLSearchParams(location.search).get("lang");
const ask = (path) => fetch(address(path)).then((answer) => answer.json());
let words = {}, run = {}, following = true, drawn = null;

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
  const unit = (name, n) => words[`unit.${name}`].replace("{n}", n);
  if (seconds < 59.5) return unit("s", seconds.toFixed(seconds < 10 ? 1 : 0));
  const [large, small, part] = seconds < 3599.5 ? ["min", "s", 1] : ["h", "min", 60];
  const whole = Math.round(seconds / part), rest = whole % 60;
  return [unit(large, (whole - rest) / 60), rest ? unit(small, rest) : ""].join(" ").trim();
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${bytes.toFixed(unit && bytes < 100 ? 1 : 0)} ${units[unit]}`;
}

// As on the axis of the heatmap and in the events: UTC.
const moment = (at) => new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ");

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
  const verdict = run.verdict;
  const told = verdict && verdict.summary && (!verdict.written_s || verdict.written_s <= standing.at + 2);
  const named = told ? `${[verdict.outcome, verdict.cause].filter(Boolean).join(": ")} — ${verdict.summary}` : "";
  news.className = worst ? worst.stage : standing.ranks.length && !named ? "calm" : "";
  if (worst) {
    news.replaceChildren(make("strong", worst.title), make("p", named || worst.why));
  } else {
    news.replaceChildren(make("p", named || (standing.ranks.length ? words.calm : words.nothing_yet)));
  }
}

function show(standing) {
  if (!standing) return;
  showNews(standing);
  table("classes", standing.classes);
  table("groups", standing.groups);
  table("ranks", standing.ranks);
  $("waits").hidden = !standing.graph;
  if (standing.graph !== drawn) put("edges", drawn = standing.graph);
  $("hosts").replaceChildren(...standing.hosts.map((host) => make(
    "li", `${host.host}: ${host.who} · ${words["column.beat"]} ${duration(host.age_s)}`)));
  $("losses").hidden = standing.lost.length === 0;
  $("lost").replaceChildren(...standing.lost.map((text) => make("li", text)));
  $("clock").textContent = `${moment(standing.at)} UTC · ${duration(standing.up_s)}`;
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
  $("state").className = state;
  $("replay").hidden = !news.span || news.span[1] - news.span[0] < 2;
}

function addEvents(events) {
  for (const event of events) {
    const line = make("li", null, event.kind);
    line.append(make("span", event.at.replace("T", " ").slice(0, 19), "quiet"));
    line.append(make("span", [event.kind, event.who].filter(Boolean).join(" · ")));
    line.append(make("span", event.why));
    $("events").prepend(line);
  }
  while ($("events").childElementCount > 500) $("events").lastElementChild.remove();
}

// Puts a piece of markup in; what would run in it does not, for the page's policy forbids it.
function put(id, markup) {
  const piece = new DOMParser().parseFromString(markup, "text/html");
  $(id).replaceChildren(...piece.body.childNodes);
}

function drawHeat(map) {
  put("heat", map.html);
  for (const drawing of $("heat").querySelectorAll("svg[data-cells]")) readHeat(drawing);
}

$("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
});

$("at").addEventListener("input", async () => {
  const part = Number($("at").value) / 1000;
  following = part === 1;
  const [first, last] = run.span;
  const at = first + (last - first) * part;
  $("when").textContent = moment(at).slice(11);
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
