// Once a second the page asks for counters, and shows what has changed since the second before. Everything else is asked when
// somebody clicks. What comes from the machine is written as text, never as HTML.

const KEPT = 180, SERIES = 6, SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const history = [];
let shown = { actor: null, behaviour: null }, cursor = null, run = 0, lastTurn = 0;

// -- asking ---------------------------------------------------------------------------------------------------

async function ask(path, params = {}, method = "GET") {
  const { ok, text } = await request(path, params, method);
  let answer;
  try { answer = JSON.parse(text); } catch { answer = { error: text }; }
  if (!ok) throw new Error(answer.error);
  return answer;
}

function complain(error) {
  $("error").textContent = error ? error.message : "";
  $("error").hidden = !error;
}

// Runs what a click asks for; the button is off meanwhile.
function onClick(id, work) {
  $(id).addEventListener("click", (event) => attempt(work, event.currentTarget));
}

async function attempt(work, button) {
  if (button) button.disabled = true;
  complain(null);
  try { await work(); } catch (error) { complain(error); }
  if (button) button.disabled = false;
}

// -- making elements ------------------------------------------------------------------------------------------

function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value);
  }
  element.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return element;
}

const link = (text, onclick) => el("button", { class: "link", type: "button", onclick }, text);
const isCell = (content) => content instanceof Element && content.tagName === "TD";
const cells = (...contents) => contents.map((content) => (isCell(content) ? content : el("td", {}, content)));

function scaled(n, units, base) {
  let unit = 0;
  while (Math.abs(n) >= base && unit < units.length - 1) { n /= base; unit += 1; }
  const digits = n !== 0 && Math.abs(n) < 10 && !Number.isInteger(n) ? 2 : Math.abs(n) < 100 && unit > 0 ? 1 : 0;
  return n.toFixed(digits) + units[unit];
}

const count = (n) => (n < 10000 ? Math.round(n).toLocaleString("en") : scaled(n, ["", " k", " M", " G", " T"], 1000));
const rate = (n) => (n > 0 && n < 10 ? n.toFixed(1) : count(n));
const bytes = (n) => scaled(n, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
const time = (ns) => scaled(ns, [" ns", " µs", " ms", " s"], 1000);
const percent = (part) => Math.round(part * 100) + " %";

function duration(ms) {
  const s = Math.floor(ms / 1000), parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = Math.max(parts.findIndex(([unit]) => s >= unit), 0);
  if (s === 0) return "0 s";
  const part = ([unit, name], i) => Math.floor((i === 0 ? s : s % parts[first][0]) / unit) + " " + name;
  return parts.slice(first, first + 2).map(part).join(" ");
}
