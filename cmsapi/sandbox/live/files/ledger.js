// Draws the ledger. A row opens: what was asked, what was answered, and why.
import { $, count, element, fold, put, time, updateChildren } from "./drawing.js";

const MAX_ENTRIES = 500;
const MAX_ROWS = 100;
const FILTERS = {
  all: () => true,
  effect: (entry) => entry.effect,
  charged: (entry) => entry.charged,
  refused: (entry) => entry.outcome !== "ok",
};

let entries = [];
let seen = 0;
// By the numbers of their entries: what the opened rows show.
const opened = new Map();

export function clearEntries() {
  entries = [];
  opened.clear();
}

export function addEntries({ first, entries: fresh }, all) {
  entries = entries.concat(fresh.map((entry, place) => ({ ...entry, number: first + place }))).slice(-MAX_ENTRIES);
  seen = all;
}

function pre(label, text) {
  return element("div", {}, element("h3", {}, label), element("pre", { tabindex: "0", "aria-label": label }, text));
}

function readable(body) {
  try { return JSON.stringify(JSON.parse(body), null, 2); } catch { return body; }
}

function detailsOf(found) {
  const headers = Object.entries({ "X-Request-Id": found.request_id, ...found.headers }).map(([name, value]) => `${name}: ${value}`);
  const gone = found.kept ? [] : ["Only the texts of the latest requests are kept."];
  const asked = [found.request, ...(found.request_body ? ["", readable(found.request_body)] : []), ...gone];
  const answered = found.status === null ? ["The connection broke."] : [`HTTP ${found.status}`, ...headers, "", found.answer_body === null ? "" : readable(found.answer_body)];
  return [
    element("div", { class: "why" }, element("h3", {}, "Why"), element("p", {}, found.why.join(" "))),
    pre("Request", asked.join("\n")), pre("Answer", answered.join("\n").trimEnd()),
  ];
}

async function toggle(number) {
  if (opened.delete(number)) return drawLedger();
  const place = element("div", { class: "details" }, element("p", { class: "quiet", role: "status" }, "Reading"));
  opened.set(number, place);
  drawLedger();
  try {
    const answer = await fetch(`/_sandbox/request?number=${number}`);
    if (!answer.ok) throw new Error(String(answer.status));
    place.replaceChildren(...detailsOf(await answer.json()));
  } catch {
    place.replaceChildren(element("p", {}, "The sandbox does not answer, or knows this request no more."));
  }
}

function row(entry) {
  const button = element("button", { type: "button", class: "opener mono", "aria-expanded": "false", title: "Show the request, the answer, and why" }, entry.request);
  button.addEventListener("click", () => toggle(entry.number));
  return element("tr", {},
    element("td", { class: "nowrap mono", title: new Date(entry.moment * 1000).toISOString() }, time.format(entry.moment * 1000)),
    element("td", {}, button),
    element("td", {}, entry.key),
    element("td", {}, element("span", { class: `word ${entry.outcome === "ok" ? "good" : "bad"}` }, entry.status === null ? "no answer" : String(entry.status))),
    element("td", {}, entry.outcome === "ok" ? "" : entry.outcome.replaceAll("_", " ")),
    element("td", { class: "nowrap" }, entry.charged ? "changed, took a credit" : entry.effect ? "changed" : ""));
}

export function drawLedger() {
  const shown = entries.filter(FILTERS[$("ledger-filter").value]).slice(-MAX_ROWS).reverse();
  put($("ledger-count"), `${count.format(seen)} ${seen === 1 ? "request" : "requests"}`);
  $("no-ledger").hidden = shown.length > 0;
  put($("no-ledger"), seen ? "The latest requests include none of this kind." : "No request has arrived yet.");
  const rows = fold("ledger", shown, drawLedger)
    .flatMap((entry) => [entry, ...(opened.has(entry.number) ? [{ number: entry.number, place: opened.get(entry.number) }] : [])]);
  updateChildren($("ledger"), rows, ({ number, place }) => (place ? `${number}-details` : number),
    (each) => (each.place ? element("tr", { class: "opened" }, element("td", { colspan: "6" }, each.place)) : row(each)),
    (child, { number, place }) => {
      if (!place) child.querySelector("button").setAttribute("aria-expanded", String(opened.has(number)));
    });
}

$("ledger-filter").addEventListener("change", drawLedger);
