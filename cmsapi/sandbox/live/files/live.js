// Reads the state once a second and draws it. Each button sends one request.
import { $, count, element, fold, put, span, time, updateChildren } from "./drawing.js";
import { addEntries, clearEntries, drawLedger } from "./ledger.js";

const INTERVAL = 1000;
const TIMEOUT = 4000;

const KINDS = {
  keyword_analysis: "Keyword analysis", prompt_analysis: "Prompt analysis", idea_search: "Idea search",
  generation: "Generation", knowledge_document: "Knowledge document",
};
const MEANINGS = {
  queued: "The service has not begun it.", running: "The service works on it.", review: "The article waits for a decision.",
  success: "It has a result.", failed: "It has no result, and its credit is given back.", dropped: "Its target was deleted.",
};
const STYLES = { queued: "queued", running: "running", success: "good", review: "review", failed: "bad", error: "bad" };

let run = null;
let seen = 0;
let jobs = null;
let paused = false;
let timer = null;
let lastSeen = null;
let reading = null;

function drawKeys(parent, keys, window, note) {
  updateChildren(parent, keys, (key) => key.label,
    (key) => element("div", { class: "key" },
      element("span", { title: "An API key of this sandbox" }, key.label),
      element("div", { class: "meter", role: "meter", "aria-label": `Requests of the ${key.label} key`, "aria-valuemin": "0" }, element("span")),
      element("span", { class: "number" }), element("span", { class: "note" })),
    (row, key) => {
      const { used, limit } = key[window];
      const [, meter, number, below] = row.children;
      const share = limit === null ? 0 : used / limit;
      const shown = element("small", {}, limit === null ? "no limit" : ` of ${count.format(limit)}`);
      number.replaceChildren(limit === null ? "" : count.format(used), shown);
      meter.classList.toggle("full-up", share >= 1);
      meter.firstElementChild.style.width = `${Math.min(100, share * 100)}%`;
      meter.setAttribute("aria-valuenow", String(used));
      meter.setAttribute("aria-valuemax", String(limit ?? used));
      put(below, note(key));
      below.hidden = !below.textContent;
    });
}

function drawChart(id, bars, unit, limit) {
  const svg = $(`${id}-chart`);
  const peak = Math.max(...bars.map(([all]) => all));
  const top = Math.max(peak, limit ?? 10) * 1.05;
  const [width, height] = [240 / bars.length, 48];
  if (!svg.children.length) {
    for (const kind of ["all", "refused"]) {
      for (let place = 0; place < bars.length; place += 1) {
        const bar = document.createElementNS(svg.namespaceURI, "rect");
        bar.setAttribute("class", kind);
        bar.setAttribute("x", String(place * width + 0.4));
        bar.setAttribute("width", String(width - 0.8));
        svg.append(bar);
      }
    }
    const line = document.createElementNS(svg.namespaceURI, "line");
    line.setAttribute("x2", "240");
    svg.append(line);
  }
  bars.forEach(([all, refused], place) => {
    for (const [offset, value] of [[0, all], [bars.length, refused]]) {
      const bar = svg.children[offset + place];
      const size = (value / top) * height;
      bar.setAttribute("height", String(size));
      bar.setAttribute("y", String(height - size));
    }
  });
  const line = svg.lastElementChild;
  const level = String(height - ((limit ?? 0) / top) * height);
  line.setAttribute("y1", level);
  line.setAttribute("y2", level);
  line.style.display = limit === null ? "none" : "";
  const refused = bars.reduce((sum, [, each]) => sum + each, 0);
  const text = `at most ${count.format(peak)} a ${unit}${refused ? `, ${count.format(refused)} refused` : ""}${limit === null ? "" : `, limit ${limit}`}`;
  put($(`${id}-peak`), text);
  svg.setAttribute("aria-label", `Requests by ${unit}: ${text}`);
}

function jobButton(text, title, what, name, body) {
  const label = `${text}: ${title}`;
  const button = element("button", { type: "button", "aria-label": label, title: what }, text);
  button.addEventListener("click", () => press(name, body, label));
  return button;
}

function drawJobs() {
  const { words, rows } = jobs;
  const order = ["queued", "running", "review", "success", "failed"];
  const named = Object.entries(words).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  put($("jobs-words"), named.map(([word, number]) => `${count.format(number)} ${word}`).join(" · "));
  $("no-jobs").hidden = rows.length > 0;
  updateChildren($("jobs"), fold("jobs", rows, drawJobs), (job) => job.number,
    (job) => element("tr", {},
      element("td", {}, element("span", {}), element("span", { class: "quiet" }, `${KINDS[job.kind] ?? job.kind} · ${job.target_id}`)),
      element("td", {}, element("span", { class: "word" })),
      element("td", { class: "nowrap" }, element("span", {}), element("div", { class: "progress", "aria-hidden": "true" }, element("span"))),
      element("td", {}, element("span", { class: "faults" }))),
    (row, job) => {
      const [what, state, taken, buttons] = row.children;
      put(what.firstElementChild, job.title);
      put(state.firstElementChild, job.word);
      state.firstElementChild.title = MEANINGS[job.word] ?? "";
      state.firstElementChild.className = `word ${STYLES[job.word] ?? ""}`;
      put(taken.firstElementChild, job.done ? span(job.elapsed) : `${span(job.elapsed)} of ${span(job.duration)}`);
      taken.lastElementChild.hidden = job.done;
      taken.lastElementChild.firstElementChild.style.width = `${Math.min(100, (100 * job.elapsed) / (job.duration || 1))}%`;
      const phase = job.done ? job.word : "open";
      if (row.dataset.phase === phase) return;
      row.dataset.phase = phase;
      const made = [];
      if (!job.done) {
        const generates = job.kind === "generation";
        const [good, what] = generates ? ["Put in review", "End the generation: the article then waits for a decision"] : ["Complete", "End the job with a result"];
        made.push(jobButton(good, job.title, what, "finish", { target_id: job.target_id, outcome: "success" }));
        made.push(jobButton("Fail", job.title, "End the job without a result", "finish", { target_id: job.target_id, outcome: "failed" }));
      } else if (job.word === "review") {
        made.push(jobButton("Confirm", job.title, "Accept the article, as a colleague would", "confirm", { content_id: job.target_id }));
        made.push(jobButton("Discard", job.title, "Reject the article, as a colleague would", "cancel", { content_id: job.target_id }));
      }
      const focused = buttons.contains(document.activeElement);
      buttons.firstElementChild.replaceChildren(...made);
      if (focused && made.length) made[0].focus();
    });
}

// What the buttons and choices of this page call faults and requests; a program may add others.
const FAULTS = Object.fromEntries([...document.querySelectorAll("[data-kind]")].map((button) => [button.dataset.kind, button]));
const MATCHES = Object.fromEntries([...$("fault-match").options].map((option) => [option.value, option.text]));

function faultLine(kind, note, title) {
  const button = FAULTS[kind];
  const what = element("span", button ? { title: button.title } : {}, button?.textContent ?? kind);
  return element("li", {}, what, element("span", { class: "quiet", title }, note));
}

function drawFaults(faults, struck) {
  const none = () => element("li", {}, element("span", { class: "quiet" }, "none"));
  const waiting = faults.map(({ kind, match, remaining }) => {
    const requests = MATCHES[match] ?? match;
    return faultLine(kind, remaining === null ? `all: ${requests}` : `${count.format(remaining)} of ${requests}`, `Requests that match ${match}`);
  });
  $("faults").replaceChildren(...(waiting.length ? waiting : [none()]));
  const done = Object.entries(struck).map(([kind, number]) => faultLine(kind, count.format(number), "Requests that it has broken"));
  $("struck").replaceChildren(...(done.length ? done : [none()]));
  $("clear-faults").disabled = !faults.length;
}

function draw(state) {
  if (run !== state.run) {
    run = state.run;
    clearEntries();
  }
  seen = state.requests;
  addEntries(state.ledger, seen);
  const limit = state.keys.length ? state.keys[0].second.limit : null;
  drawKeys($("hour-keys"), state.keys, "hour", (key) => (key.hour.used ? `the oldest expires in ${span(key.reset)}` : ""));
  drawKeys($("second-keys"), state.keys, "second", () => "");
  drawChart("hour", state.by_minute, "minute", null);
  drawChart("second", state.by_second, "second", limit);
  for (const [name, balance] of Object.entries(state.credits)) put($(`credit-${name}`), count.format(balance));
  jobs = state.jobs;
  drawJobs();
  drawFaults(state.faults, state.struck);
  drawLedger();
}

function show(state, text) {
  $("state").className = `state ${state}`;
  put($("state"), text);
}

function showConnected(now) {
  lastSeen = now;
  document.body.classList.remove("stale");
  $("lost").hidden = true;
  show(paused ? "" : "live", paused ? "Paused" : "Live");
}

function showDisconnected() {
  document.body.classList.add("stale");
  show("off", "No answer");
  const when = lastSeen ? ` The page shows the state of ${time.format(lastSeen).slice(0, 8)}.` : "";
  put($("lost"), `The sandbox does not answer: it has stopped or is busy.${when} The page continues when the sandbox answers again.`);
  $("lost").hidden = false;
}

async function read() {
  clearTimeout(timer);
  if (reading) return reading;
  reading = (async () => {
    try {
      const answer = await fetch(`/_sandbox/state?seen=${run ? seen : 0}`, { signal: AbortSignal.timeout(TIMEOUT) });
      if (!answer.ok) throw new Error(String(answer.status));
      let state = await answer.json();
      // Another sandbox answers on the same port: its ledger starts anew.
      if (run && run !== state.run) state = await (await fetch("/_sandbox/state")).json();
      draw(state);
      showConnected(Date.now());
    } catch {
      showDisconnected();
    } finally {
      reading = null;
      if (!paused && !document.hidden) timer = setTimeout(read, INTERVAL);
    }
  })();
  return reading;
}

let announcement = null;
function announce(text) {
  put($("said"), text);
  clearTimeout(announcement);
  announcement = setTimeout(() => put($("said"), ""), 4000);
}

async function press(name, body, done) {
  try {
    const answer = await fetch(`/_sandbox/${name}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const result = await answer.json();
    announce(answer.ok ? done : `Not done: ${result.error.message}`);
  } catch {
    announce("Not done: the sandbox does not answer.");
    showDisconnected();
  }
  await reading;
  await read();
}

for (const button of document.querySelectorAll("[data-credit]")) {
  const { credit, amount } = button.dataset;
  button.addEventListener("click", () => press("credit", { [credit]: Number(amount) }, button.getAttribute("aria-label")));
}
for (const button of document.querySelectorAll("[data-fault]")) {
  button.addEventListener("click", () => {
    const times = $("fault-times");
    const body = { name: button.dataset.fault, match: $("fault-match").value, times: times.value ? Number(times.value) : null };
    press("fault", body, `${button.textContent}: ${times.selectedOptions[0].textContent}`);
  });
}
$("clear-faults").addEventListener("click", () => press("clear_faults", {}, "Faults cleared"));
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  if (paused) {
    clearTimeout(timer);
    show("", "Paused");
  } else read();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !paused) read();
});
read();
