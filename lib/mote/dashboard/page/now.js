// -- once a second --------------------------------------------------------------------------------------------

async function tick() {
  const began = performance.now();
  // Nobody sees a page in the background.
  if (!document.hidden) {
    try {
      show(await ask("data"));
      if (run > 0 || $("trace").dataset.on === "yes") await turns();
    } catch (error) {
      state("unreachable", "stopped");
      enable(false);
    }
  }
  setTimeout(tick, Math.max(1000 - (performance.now() - began), 200));
}

function state(text, kind = text) {
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").className = "state " + kind;
}

function enable(on) {
  for (const id of ["pause", "collect", "survey", "top", "trace", "find"]) $(id).disabled = !on;
}

function show(now) {
  const last = history[history.length - 1];
  state(now.state);
  if (now.state === "stopped") {
    $("about").textContent = now.why;
    $("stepping").hidden = $("advancing").hidden = true;
    return enable(false);
  }
  // Another machine under the same name.
  if (last && last.now.pid !== now.pid) history.length = 0;
  // Rows of many threads are there for who wants them.
  if (history.length === 0) $("threads").checked = now.sponsors.reduce((sum, sponsor) => sum + sponsor.threads.length, 0) <= 6;
  const before = history.length > 0 ? history[history.length - 1].now : null;
  const sample = measured(now, before);
  history.push(sample);
  if (history.length > KEPT) history.shift();

  enable(true);
  $("name").textContent = now.name;
  document.title = now.name + " · Mote";
  $("about").textContent = "up " + duration(now.uptime) + " · " + now.native.tier +
    (now.native.pending > 0 ? ", " + now.native.pending + " modules to compile" : "") +
    (now.clock === "manual" ? " · manual clock" : "") + " · " + now.node;
  controls(now);
  tiles(now, sample);
  charts();
  sponsors(now, sample);
}

const RATES = ["turns", "sends", "creates", "aborts", "busy_ns"];

// What has happened in the second since the last snapshot, by sponsor and thread.
function measured(now, before) {
  const seconds = before ? Math.max(now.at - before.at, 1) / 1000 : 1;
  const since = (new_, old) => (new_ === undefined || old === undefined ? 0 : Math.max(new_ - old, 0) / seconds);
  const rates = (new_, old) => Object.fromEntries(RATES.map((key) => [key, old ? since(new_[key], old[key]) : 0]));
  const sponsors = now.sponsors.map((sponsor) => {
    const old = before && before.sponsors.find((one) => one.name === sponsor.name && one.started === sponsor.started);
    const threads = sponsor.threads.map((thread, i) => rates(thread, old && old.threads[i]));
    const sum = (key) => threads.reduce((all, thread) => all + thread[key], 0);
    return {
      name: sponsor.name, label: sponsor.label, threads, waiting: sponsor.waiting,
      busy: Math.min(sum("busy_ns") / 1e9 / threads.length, 1),
      turns: sum("turns"), sends: sum("sends"), creates: sum("creates"), aborts: sum("aborts"),
    };
  });
  return { now, sponsors, first: !before, paused: before ? since(now.gc.paused, before.gc.paused) : 0 };
}

function controls(now) {
  $("pause").textContent = now.state === "paused" ? "Resume" : "Pause";
  const steps = now.sponsors.filter((sponsor) => sponsor.steps).map((sponsor) => [sponsor.name, sponsor.label]);
  $("stepping").hidden = now.state !== "paused" || steps.length === 0;
  $("advancing").hidden = now.clock !== "manual";
  choices($("step-sponsor"), steps);
  const actor = shown.actor ? [["actor", "the actor below"]] : [];
  const behaviour = shown.behaviour ? [["behaviour", shown.behaviour.name]] : [];
  const all = now.sponsors.map((sponsor) => ["sponsor " + sponsor.name, "sponsor " + sponsor.label]);
  choices($("trace-sponsor"), [["", "all turns"], ...behaviour, ...actor, ...all]);
}

// Changed only when they differ, so that a menu that is open stays open.
function choices(select, options) {
  const key = JSON.stringify(options);
  if (select.dataset.key === key) return;
  const chosen = select.value;
  select.dataset.key = key;
  select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

function tiles(now, sample) {
  const turns = sample.sponsors.reduce((sum, sponsor) => sum + sponsor.turns, 0);
  const waiting = now.sponsors.reduce((sum, sponsor) => sum + sponsor.waiting, 0);
  const all = [
    ["turns a second", rate(turns)], ["turns so far", count(now.counters.turns)], ["events waiting", count(waiting)],
    ["aborted turns", count(now.counters.aborts)],
    ["live actors *", now.gc.collections ? count(now.gc.live_actors) : "–"],
    ["last pause", now.gc.collections ? time(now.gc.last_pause) : "–"],
    ["longest pause", now.gc.longest_pause ? time(now.gc.longest_pause) : "–"], ["timers", count(now.counters.timers)],
    ["charged" + (now.memory.limit ? ", of " + bytes(now.memory.limit) : ", no quota"), bytes(now.memory.charged)],
    ["questions", count(now.questions.open)], ["held by Elixir", count(now.references)],
  ];
  const io = now.sponsors.filter((sponsor) => sponsor.sockets !== null);
  if (io.length) all.push(["open sockets", count(io.reduce((sum, sponsor) => sum + sponsor.sockets, 0))]);
  $("tiles").replaceChildren(...all.map(([name, value]) => el("div", { class: "tile" }, el("span", {}, name), el("strong", {}, value))));
  $("tiles").title = "* as the last of " + now.gc.collections + " collections found them";
}

// -- charts ---------------------------------------------------------------------------------------------------

const bySponsor = (pick) => () => {
  const latest = history[history.length - 1].sponsors;
  const own = latest.length <= SERIES ? latest : latest.slice(0, SERIES - 1);
  const value = (sample, name) => {
    const found = sample.sponsors.find((sponsor) => sponsor.name === name);
    return found ? pick(found) : 0;
  };
  const lines = own.map(({ name, label }) => ({ name: label, values: history.map((sample) => value(sample, name)) }));
  const others = latest.slice(own.length);
  if (others.length > 0) {
    const sum = (sample) => others.reduce((all, { name }) => all + value(sample, name), 0);
    lines.push({ name: others.length + " others", values: history.map(sum) });
  }
  return lines;
};

const present = () => history[history.length - 1].now;
const line = (name, pick) => ({ name, values: history.map(pick) });

const CHARTS = [
  { title: "Turns a second", lines: bySponsor((s) => s.turns), text: rate, least: 10 },
  { title: "Busy", lines: bySponsor((s) => s.busy), text: percent, most: 1 },
  { title: "Events waiting", lines: bySponsor((s) => s.waiting), text: count, least: 10 },
  {
    title: "Memory", text: bytes, least: 1 << 20, nice: (n) => 2 ** Math.ceil(Math.log2(n)),
    note: () => ["holes", "spare"].map((key) => key + " " + bytes(present().memory[key])).join(", "),
    lines: () => ["live", "heap", "queues", "charged", "mapped"].map((key) => line(key, (s) => s.now.memory[key]))
      .concat(present().memory.limit ? [line("quota", (s) => s.now.memory.limit)] : []),
  },
  {
    title: "Live actors", text: count, least: 10, note: () => "at the last collection",
    lines: () => [line("actors", (s) => s.now.gc.live_actors)],
  },
  {
    title: "Pauses a second", text: time, least: 1e6, note: () => count(present().gc.collections) + " collections",
    lines: () => [line("standing still", (s) => s.paused)],
  },
];

function charts() {
  // A minute is wide enough for the beginning.
  const wide = Math.max(60, history.length);
  const x = (j) => 100 - (history.length - 1 - j) * (100 / (wide - 1));
  const back = cursor === null ? 0 : Math.round((1 - cursor) * (wide - 1));
  const at = Math.max(0, history.length - 1 - back);
  for (const chart of CHARTS) draw(chart, x, at);
}

function draw(chart, x, at) {
  if (!chart.plot) frame(chart);
  const lines = chart.lines(), greatest = Math.max(chart.least, ...lines.flatMap((line) => line.values));
  const most = chart.most || (chart.nice || nice)(greatest), y = (value) => 38 - 36 * Math.min(value / most, 1);
  // Of the first snapshot there are no differences.
  const from = history[0].first ? 1 : 0;
  const paths = lines.map((line, n) => {
    const points = line.values.slice(from).map((value, j) => x(j + from).toFixed(2) + " " + y(value).toFixed(2));
    return svg("path", { d: points.length > 0 ? "M" + points.join("L") : "", stroke: "var(--s" + n + ")" });
  });
  const grid = [0, 0.5, 1].map((part) => svg("line", { x1: 0, x2: 100, y1: y(part * most), y2: y(part * most) }));
  const mark = cursor === null ? [] : [svg("line", { class: "cursor", x1: x(at), x2: x(at), y1: 0, y2: 40 })];
  chart.plot.replaceChildren(...grid, ...paths.reverse(), ...mark);
  chart.scale.textContent = (chart.note ? chart.note() + " · " : "") + "up to " + chart.text(most);
  const current = lines.map((line) => line.name + " " + chart.text(line.values[at]));
  chart.plot.setAttribute("aria-label", chart.title + ": " + current.join(", "));
  chart.legend.replaceChildren(...lines.map((line, n) => {
    const key = el("i");
    key.style.background = "var(--s" + n + ")";
    return el("li", {}, key, line.name + " ", el("b", {}, chart.text(line.values[at])));
  }));
}

function frame(chart) {
  chart.plot = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img" });
  chart.scale = el("span");
  chart.legend = el("ul", { class: "legend" });
  const figure = el("figure", { class: "chart" }, el("figcaption", {}, chart.title, chart.scale), chart.plot, chart.legend);
  chart.plot.addEventListener("pointermove", (event) => {
    const box = chart.plot.getBoundingClientRect();
    cursor = (event.clientX - box.left) / box.width;
    charts();
  });
  chart.plot.addEventListener("pointerleave", () => { cursor = null; charts(); });
  $("charts").append(figure);
}

// The next of 1, 2 and 5 times a power of ten.
function nice(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return power * [1, 2, 5, 10].find((step) => step * power >= n * 0.999);
}

function meter(part) {
  const bar = (width) => svg("rect", { width, height: 8, rx: 4 });
  const picture = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, bar(100));
  picture.append(bar(Math.round(part * 100)));
  return el("td", { class: "meter" }, picture, percent(part));
}

// What is special of a beam sponsor.
function beam(sponsor) {
  if (!sponsor.beam) return "";
  const { running, longest } = sponsor;
  return " (beam" + (running ? ", " + running + " running" : "") +
    (longest ? ", longest " + longest.behaviour + " " + duration(longest.age) : "") + ")";
}

function sponsors(now, sample) {
  const rows = [];
  now.sponsors.forEach((sponsor, i) => {
    const m = sample.sponsors[i], total = sponsor.threads.reduce((sum, thread) => sum + thread.turns, 0);
    rows.push(el("tr", {}, ...cells(
      sponsor.label + beam(sponsor), meter(m.busy), rate(m.turns), rate(m.sends), rate(m.creates), rate(m.aborts), count(total),
      sponsor.asleep + " of " + sponsor.threads.length, count(sponsor.waiting), count(sponsor.high_water), count(sponsor.overloaded))));
    if ($("threads").checked) sponsor.threads.forEach((thread, j) => {
      const t = m.threads[j];
      rows.push(el("tr", { class: "thread" }, ...cells(
        "thread " + (j + 1), meter(Math.min(t.busy_ns / 1e9, 1)), rate(t.turns), rate(t.sends), rate(t.creates), rate(t.aborts),
        count(thread.turns), "", "", count(thread.queue_high_water), "")));
    });
  });
  $("sponsors").tBodies[0].replaceChildren(...rows);
}
