// Reads the state once a second and draws it. Each button sends one request. The page inserts texts as text only.
const INTERVAL = 1000;
const TIMEOUT = 4000;
const MAX_ENTRIES = 500;

const $ = (id) => document.getElementById(id);
const count = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
const KINDS = {
  keyword_analysis: "Keyword analysis", prompt_analysis: "Prompt analysis", idea_search: "Idea search",
  generation: "Generation", knowledge_document: "Knowledge document",
};
const STYLES = { queued: "queued", running: "running", success: "good", review: "review", failed: "bad", error: "bad" };

let run = null;
let entries = [];
let seen = 0;
let paused = false;
let timer = null;
let lastSeen = null;
let reading = null;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function span(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

// Keeps one child for each item as long as the item exists, so that focus and selection survive.
function updateChildren(parent, items, key, make, update) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = there.get(name);
    there.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of there.values()) child.remove();
}

function drawKeys(parent, keys, window, note) {
  updateChildren(parent, keys, (key) => key.label,
    (key) => element("div", { class: "key" },
      element("span", {}, key.label),
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

function jobButton(text, label, name, body) {
  const button = element("button", { type: "button", "aria-label": label }, text);
  button.addEventListener("click", () => press(name, body, label));
  return button;
}

function drawJobs({ words, rows }) {
  const order = ["queued", "running", "review", "success", "failed"];
  const named = Object.entries(words).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  put($("jobs-words"), named.map(([word, number]) => `${count.format(number)} ${word}`).join(" · "));
  $("no-jobs").hidden = rows.length > 0;
  updateChildren($("jobs"), rows, (job) => job.number,
    (job) => element("tr", {},
      element("td", {}, element("span", {}), element("span", { class: "quiet" }, `${KINDS[job.kind] ?? job.kind} · ${job.target_id}`)),
      element("td", {}, element("span", { class: "word" })),
      element("td", { class: "nowrap" }, element("span", {}), element("div", { class: "progress", "aria-hidden": "true" }, element("span"))),
      element("td", {}, element("span", { class: "faults" }))),
    (row, job) => {
      const [what, state, taken, buttons] = row.children;
      put(what.firstElementChild, job.title);
      put(state.firstElementChild, job.word);
      state.firstElementChild.className = `word ${STYLES[job.word] ?? ""}`;
      put(taken.firstElementChild, job.done ? span(job.elapsed) : `${span(job.elapsed)} of ${span(job.duration)}`);
      taken.lastElementChild.hidden = job.done;
      taken.lastElementChild.firstElementChild.style.width = `${Math.min(100, (100 * job.elapsed) / (job.duration || 1))}%`;
      const phase = job.done ? job.word : "open";
      if (row.dataset.phase === phase) return;
      row.dataset.phase = phase;
      const target = { target_id: job.target_id };
      const made = [];
      if (!job.done) {
        const good = job.kind === "generation" ? "Put in review" : "Complete";
        made.push(jobButton(good, `${good}: ${job.title}`, "finish", { ...target, failed: false }));
        made.push(jobButton("Fail", `Fail: ${job.title}`, "finish", { ...target, failed: true }));
      } else if (job.word === "review") {
        made.push(jobButton("Confirm", `Confirm as a colleague: ${job.title}`, "decide", { ...target, confirm: true }));
        made.push(jobButton("Discard", `Discard as a colleague: ${job.title}`, "decide", { ...target, confirm: false }));
      }
      const focused = buttons.contains(document.activeElement);
      buttons.firstElementChild.replaceChildren(...made);
      if (focused && made.length) made[0].focus();
    });
}

function drawFaults(faults, struck) {
  const line = (text, note) => element("li", {}, element("span", {}, text), element("span", { class: "quiet" }, note));
  const waiting = faults.map(({ kind, match, left }) => line(kind, `${left === null ? "every" : left} × ${match}`));
  $("faults").replaceChildren(...(waiting.length ? waiting : [line("none", "")]));
  const done = Object.entries(struck).map(([kind, number]) => line(kind, count.format(number)));
  $("struck").replaceChildren(...(done.length ? done : [line("none", "")]));
  $("clear-faults").disabled = !faults.length;
}

const FILTERS = {
  all: () => true,
  effect: (entry) => entry.effect,
  charged: (entry) => entry.charged,
  refused: (entry) => entry.outcome !== "ok",
};

function drawLedger() {
  const shown = entries.filter(FILTERS[$("ledger-filter").value]).slice(-100).reverse();
  put($("ledger-count"), `${count.format(seen)} ${seen === 1 ? "request" : "requests"}`);
  $("no-ledger").hidden = shown.length > 0;
  put($("no-ledger"), seen ? "The latest requests include none of this kind." : "No request has arrived yet.");
  updateChildren($("ledger"), shown, (entry) => entry.number,
    (entry) => element("tr", {},
      element("td", { class: "nowrap mono" }, time.format(entry.moment * 1000)),
      element("td", { class: "mono" }, entry.request),
      element("td", {}, entry.key),
      element("td", {}, element("span", { class: `word ${entry.outcome === "ok" ? "good" : "bad"}` }, entry.status === null ? "no answer" : String(entry.status))),
      element("td", {}, entry.outcome === "ok" ? "" : entry.outcome.replaceAll("_", " ")),
      element("td", { class: "nowrap" }, entry.charged ? "changed, charged" : entry.effect ? "changed" : "")),
    () => {});
}

function draw(state) {
  if (run !== state.run) {
    run = state.run;
    entries = [];
  }
  const { first, entries: fresh } = state.ledger;
  entries = entries.concat(fresh.map((entry, place) => ({ ...entry, number: first + place }))).slice(-MAX_ENTRIES);
  seen = state.requests;
  const limit = state.keys.length ? state.keys[0].second.limit : null;
  drawKeys($("hour-keys"), state.keys, "hour", (key) => (key.hour.used ? `the oldest expires in ${span(key.reset)}` : ""));
  drawKeys($("second-keys"), state.keys, "second", () => "");
  drawChart("hour", state.by_minute, "minute", null);
  drawChart("second", state.by_second, "second", limit);
  for (const [name, balance] of Object.entries(state.credits)) put($(`credit-${name}`), count.format(balance));
  drawJobs(state.jobs);
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
$("ledger-filter").addEventListener("change", drawLedger);
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
