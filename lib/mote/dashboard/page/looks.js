// -- behaviours, actors, graphs -------------------------------------------------------------------------------

function rowsOf(table, rows, columns, none) {
  const nothing = () => el("tr", {}, el("td", { colspan: columns, class: "muted" }, none));
  $(table).tBodies[0].replaceChildren(...(rows.length > 0 ? rows : [nothing()]));
}

async function survey() {
  const found = await ask("behaviours");
  const rows = found.behaviours.map((row) => el("tr", {}, ...cells(
    link(row.name, () => attempt(() => { shown.behaviour = row; return top(); })), count(row.actors), bytes(row.bytes),
    rate(row.turns * 1000 / found.for))));
  if (found.omitted > 0) rows.push(el("tr", {}, el("td", { colspan: 4, class: "muted" }, "and " + found.omitted + " more")));
  rowsOf("behaviours", rows, 4, "no actor is alive");
}

const actorLink = (id, text) => link(text, () => attempt(() => actor(id)));

async function top() {
  const by = $("by").value, of = shown.behaviour;
  $("of").hidden = !of;
  if (of) $("of-name").textContent = "of " + of.name;
  const found = await ask("top", of ? { by, behaviour: of.id } : { by });
  const figure = { turns: (n) => count(n), queued: count, bytes, running: duration, bytes_in: bytes, bytes_out: bytes }[by];
  $("figure").textContent = by === "turns" ? "turns in " + found.for + " ms" : $("by").selectedOptions[0].textContent;
  const row = (one) => el("tr", {}, ...cells(actorLink(one.id, one.address), one.behaviour, figure(one.figure)));
  const none = { turns: of ? "none" : "none has run meanwhile", queued: "none waits", bytes: "none", running: "no turn of a beam sponsor runs", bytes_in: "none came", bytes_out: "none went" };
  rowsOf("actors", found.actors.map(row), 3, none[by]);
  $("partial").hidden = !found.partial;
  $("partial").textContent = "Looked for among the first 4,096 of all actors.";
}

async function actor(id) {
  const found = await ask("actor", { id });
  shown.actor = id;
  $("no-actor").hidden = true;
  $("actor").hidden = $("look").hidden = $("trace-actor").hidden = false;
  $("actor-address").textContent = found.address;
  $("actor-behaviour").textContent = found.behaviour;
  const least = found.complete ? "" : "at least ";
  const facts = [["sponsor", found.sponsor], ["pinned", found.pinned || "no"], ["waiting", least + count(found.queued)],
    ["holds", least + bytes(found.bytes)]];
  $("actor-facts").replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  $("captures").replaceChildren(...found.captures.map((text) => el("li", {}, el("pre", {}, text))));
  picture(await ask("graph", { id, depth: $("depth").value }));
  $("actor-panel").scrollIntoView({ block: "nearest" });
}

const BOX = { width: 155, height: 32, across: 202, down: 44 };

// Where each actor stands: in columns by the number of steps from the first one.
function places(graph) {
  const steps = new Map([[0, 0]]), columns = [], place = new Map();
  for (const node of graph.nodes) for (const edge of graph.edges)
    if (edge.from === node.number && !steps.has(edge.to)) steps.set(edge.to, (steps.get(node.number) || 0) + 1);
  for (const node of graph.nodes) {
    const column = steps.get(node.number) || 0;
    columns[column] = (columns[column] || 0) + 1;
    place.set(node.number, [10 + column * BOX.across, 10 + (columns[column] - 1) * BOX.down]);
  }
  return place;
}

function arrow(edge, place) {
  const [x1, y1] = place.get(edge.from), [x2, y2] = place.get(edge.to), self = edge.from === edge.to;
  const from = [x1 + BOX.width, y1 + BOX.height / 2], to = [x2, y2 + BOX.height / 2];
  const bend = self ? 60 : Math.max(30, Math.abs(to[0] - from[0]) / 2);
  const d = "M" + from + " C" + [from[0] + bend, from[1] - (self ? 30 : 0)] + " " + [to[0] - bend, to[1]] + " " + to;
  return [svg("path", { "marker-end": "url(#arrow)", d }), svg("text", { class: "capture", x: from[0] + 5, y: from[1] - 4 }, edge.capture)];
}

function box(node, [x, y]) {
  const title = node.behaviour + " " + node.address;
  // The last part of the module's name, and what behind it.
  const name = node.behaviour.replace(/^.*\.(?=[^.]*\.[^.]*$)/, ""), text = name.length > 22 ? name.slice(0, 21) + "…" : name;
  const group = svg("g", { class: node.number === 0 ? "root" : "", transform: "translate(" + x + " " + y + ")" },
    svg("title", {}, title), svg("rect", { width: BOX.width, height: BOX.height }), svg("text", { x: 9, y: 20 }, text));
  if (node.number === 0) return group;
  const go = () => attempt(() => actor(node.id));
  for (const [key, value] of [["tabindex", "0"], ["role", "button"], ["aria-label", title]]) group.setAttribute(key, value);
  group.addEventListener("click", go);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    go();
  });
  return group;
}

function picture(graph) {
  const place = places(graph), [right, bottom] = [0, 1].map((axis) => Math.max(...[...place.values()].map((xy) => xy[axis])));
  const edges = graph.edges.filter((edge) => place.has(edge.from) && place.has(edge.to));
  const tip = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0 0L8 4L0 8z" }));
  const size = { width: right + BOX.width + 50, height: bottom + BOX.height + 10 };
  const drawn = svg("svg", { ...size, "aria-label": graph.nodes.length + " actors" }, svg("defs", {}, tip));
  drawn.append(...edges.flatMap((edge) => arrow(edge, place)), ...graph.nodes.map((node) => box(node, place.get(node.number))));
  $("graph").replaceChildren(drawn, ...(graph.truncated ? [el("p", { class: "muted" }, "There are more.")] : []));
}

// -- traces and steps -----------------------------------------------------------------------------------------

const ENDED = { limit: "it has shown as many turns as it may", stopped: "stopped", unwatched: "nobody watched it", machine: "the machine has ended" };

function turnItem(turn, mark) {
  const [head, ...effects] = turn.text.split("\n");
  return el("li", {}, mark + " ", actorLink(turn.actor, turn.behaviour), el("pre", {}, [head, ...effects].join("\n")));
}

function addTurns(items) {
  const list = $("turns"), follows = list.scrollTop + list.clientHeight > list.scrollHeight - 30;
  list.append(...items);
  while (list.children.length > 1000) list.firstChild.remove();
  if (follows) list.scrollTop = list.scrollHeight;
}

async function turns() {
  const found = await ask("trace", { run, after: lastTurn });
  if (found.run !== run) { run = found.run; lastTurn = 0; $("turns").replaceChildren(); }
  if (found.turns.length > 0) {
    lastTurn = found.turns[found.turns.length - 1].number;
    addTurns(found.turns.map((turn) => turnItem(turn, "#" + turn.number)));
  }
  $("trace").textContent = found.on ? "Stop" : "Start";
  $("trace").dataset.on = found.on ? "yes" : "no";
  $("trace-state").textContent = found.run === 0 ? "off" : found.about + ": " + lastTurn + " of at most " + found.limit + " turns, " +
    (found.on ? "on" : "off (" + (ENDED[found.ended] || "") + ")");
}

async function trace(of) {
  const filters = { "": {}, actor: { actor: shown.actor }, behaviour: { behaviour: shown.behaviour && shown.behaviour.id } };
  const filter = of.startsWith("sponsor ") ? { sponsor: of.slice(8) } : filters[of];
  await ask("trace/start", { limit: $("trace-limit").value, ...filter }, "POST");
  await turns();
}

async function refresh() { show(await ask("data")); }

onClick("pause", async () => { await ask($("pause").textContent === "Resume" ? "resume" : "pause", {}, "POST"); await refresh(); });
onClick("collect", async () => { await ask("collect", {}, "POST"); await refresh(); });
onClick("advance", async () => { await ask("advance", { ms: $("advance-ms").value }, "POST"); await refresh(); });
onClick("step", async () => {
  const answer = await ask("step", { sponsor: $("step-sponsor").value }, "POST");
  addTurns([answer.idle ? el("li", { class: "muted" }, "step: nothing is queued") : turnItem(answer.turn, "step")]);
});
onClick("survey", survey);
onClick("top", top);
$("by-key").addEventListener("submit", (event) => event.preventDefault());
onClick("find", async () => actor((await ask("find", { directory: $("directory").value, key: $("key").value })).id));
onClick("of-all", () => { shown.behaviour = null; return top(); });
onClick("look", () => actor(shown.actor));
onClick("trace-actor", () => trace("actor"));
onClick("trace", async () => {
  if ($("trace").dataset.on !== "yes") return trace($("trace-sponsor").value);
  await ask("trace/stop", {}, "POST");
  await turns();
});
$("by").addEventListener("change", () => attempt(top));
$("depth").addEventListener("change", () => attempt(() => actor(shown.actor)));
// A trace that somebody has begun elsewhere is shown from the beginning.
turns().catch(() => {}).then(tick);
