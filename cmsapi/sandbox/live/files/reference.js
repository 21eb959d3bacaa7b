// Draws the reference from /openapi.json and sends its requests. An API key is only in this script: never in an address,
// a text of the page or a storage. Without this script the page is a table.
import { $, element } from "./drawing.js";

const EXAMPLES = "/_sandbox/examples";
const OWN = "own";

const main = $("operations");
let description = null;
let examples = { keys: {}, values: {} };

// Shows text in backticks as code.
function prose(text) {
  return text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part));
}

// Lets a long path break between its parts.
function breakable(path) {
  return path.split(/(?=\/)/).flatMap((part) => [element("wbr"), part]);
}

function resolve(thing) {
  let found = thing;
  while (found?.$ref) found = found.$ref.slice(2).split("/").reduce((inside, name) => inside[name], description);
  return found ?? {};
}

function bare(schema) {
  const found = resolve(schema);
  return found.anyOf && !found.properties ? resolve(found.anyOf.find((each) => resolve(each).type !== "null")) : found;
}

function typeName(schema) {
  const found = resolve(schema);
  if (found.enum) return found.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (found.anyOf && !found.properties) return found.anyOf.map(typeName).join(" | ");
  if (found.type === "array") return `list of ${typeName(found.items ?? {})}`;
  const type = Array.isArray(found.type) ? found.type.join(" | ") : found.type ?? "any";
  return found.format ? `${type} (${found.format})` : type;
}

function shape(schema, depth = 0) {
  let found = bare(schema);
  while (found.type === "array") found = bare(found.items);
  if (found.oneOf) {
    return element("div", {}, ...found.oneOf.map((each) => element("div", {}, element("p", {}, resolve(each).description), shape(each, depth))));
  }
  if (!found.properties || depth > 3) return "";
  const required = new Set(found.required ?? []);
  return element("ul", { class: "shape" }, ...Object.entries(found.properties).map(([name, each]) => {
    const type = typeName(each) + (required.has(name) ? "" : ", optional") + (each.description ? ". " : "");
    return element("li", {}, element("code", {}, name), " ", element("span", { class: "quiet" }, type, ...prose(each.description ?? "")), shape(each, depth + 1));
  }));
}

// Puts identifiers that exist into an example.
function filled(value, name = "") {
  if (examples.values[name]) return examples.values[name];
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([each, inner]) => [each, filled(inner, each)]));
}

function field(parameter, values) {
  const found = bare(parameter.schema);
  const id = `field-${Math.random().toString(36).slice(2)}`;
  let input;
  if (found.enum) {
    input = element("select", { id, name: parameter.name }, ...(parameter.required ? [] : [element("option", { value: "" }, "any")]),
      ...found.enum.map((word) => element("option", {}, word)));
  } else {
    input = element("input", { title: parameter.description, id, name: parameter.name, required: Boolean(parameter.required), autocomplete: "off", spellcheck: "false",
      inputmode: found.type === "integer" ? "numeric" : "text", placeholder: found.default ?? (parameter.required ? "" : "optional") });
    if (parameter.in === "path") input.value = values[parameter.name] ?? "";
  }
  return element("label", { for: id }, parameter.name, parameter.required ? "" : element("span", { class: "quiet" }, " optional"), input);
}

function target(path, form, parameters) {
  const query = new URLSearchParams();
  let address = path;
  for (const { name, in: place } of parameters) {
    const { value } = form.elements.namedItem(name);
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.append(name, value);
  }
  return query.size ? `${address}?${query}` : address;
}

function curl(method, address, body, open) {
  const parts = [`curl${method === "GET" ? "" : ` -X ${method}`} '${location.origin}${address.replaceAll("'", "%27")}'`];
  if (!open) parts.push('-H "Authorization: Bearer $CMSAPI_API_KEY"');
  if (body) parts.push("-H 'Content-Type: application/json'", `-d '${body.replaceAll("'", "'\\''")}'`);
  return parts.join(" \\\n  ");
}

function key() {
  const chosen = $("who").value;
  return chosen === OWN ? $("own").value.trim() : examples.keys[chosen] ?? "";
}

async function send(method, address, body, open, place) {
  const headers = {};
  if (!open && key()) headers.Authorization = `Bearer ${key()}`;
  if (body) headers["Content-Type"] = "application/json";
  const began = performance.now();
  try {
    const answer = await fetch(address, { method, headers, body: body || undefined, credentials: "omit", cache: "no-store", redirect: "error" });
    const text = await answer.text();
    const took = Math.round(performance.now() - began);
    const limits = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "X-Request-Id", "Content-Type"]
      .filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* The body is not JSON, and is shown as it is. */ }
    if (shown.length > 50_000) shown = `${shown.slice(0, 50_000)}\n… ${shown.length - 50_000} characters more`;
    place.replaceChildren(
      element("p", {}, element("span", { class: `word ${answer.ok ? "good" : "bad"}` }, `${answer.status} ${answer.statusText}`), ` after ${took} ms`),
      element("pre", { tabindex: "0", "aria-label": "Headers" }, limits.join("\n")),
      element("pre", { tabindex: "0", "aria-label": "Body" }, shown || "no body"));
  } catch {
    place.replaceChildren(element("p", {}, element("span", { class: "word bad" }, "No answer"),
      " The connection broke: by a fault, or because the sandbox has stopped. The ledger tells whether the request took effect."));
  }
}

function body(operation) {
  const media = operation.requestBody?.content?.["application/json"];
  if (!media) return null;
  // The first of several alternatives.
  const text = JSON.stringify(filled(media.example ?? Object.values(media.examples)[0].value), null, 2);
  const area = element("textarea", { name: "body", spellcheck: "false", rows: String(Math.min(14, text.split("\n").length + 2)) });
  area.value = text;
  return { wanted: media.schema, area };
}

function fill(details, method, path, operation) {
  const open = operation.security?.length === 0;
  const parameters = operation.parameters ?? [];
  const json = body(operation);
  const [good] = Object.entries(operation.responses).filter(([status]) => status < 300);
  const answers = good[1].content?.["application/json"]?.schema;
  const form = element("form", {}, element("p", {}, ...prose(operation.description)), element("h3", {}, "Try it"), ...parameters.map((each) => field(each, examples.values)));
  if (json) form.append(element("label", {}, "Body", json.area));
  const again = () => { command.textContent = curl(method, target(path, form, parameters), json?.area.value.trim(), open); };
  const button = element("button", { class: "main" }, "Send");
  form.append(element("div", { class: "row" }, button));
  const command = element("pre", { tabindex: "0", "aria-label": "The same request with curl" });
  form.append(command);
  const place = element("div", { class: "answer", role: "status" });
  form.addEventListener("input", again);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    await send(method, target(path, form, parameters), json?.area.value.trim(), open, place);
    button.disabled = false;
    button.focus();
  });
  again();
  const known = element("div", {});
  if (json) known.append(element("h3", {}, "Body"), shape(json.wanted));
  known.append(element("h3", {}, `Answer ${good[0]}`), answers ? shape(answers) || element("p", { class: "quiet" }, typeName(answers)) : "");
  const wrong = Object.entries(operation.responses).filter(([status]) => status >= 300)
    .map(([status, response]) => [element("strong", {}, status), " ", ...prose(response.description ?? resolve(response).description)]);
  if (wrong.length) {
    known.append(element("details", {}, element("summary", {}, "Errors"), element("ul", { class: "rules" }, ...wrong.map((each) => element("li", {}, ...each)))));
  }
  details.append(element("div", { class: "operation" }, form, known, place));
}

function draw(operations) {
  const groups = new Map();
  for (const one of operations) {
    const [title] = one.operation.tags;
    groups.set(title, [...(groups.get(title) ?? []), one]);
  }
  const filter = element("input", { id: "filter", type: "search", placeholder: "Filter", "aria-label": "Filter the operations" });
  const contents = element("nav", { "aria-label": "Operations" });
  const list = element("div", {});
  for (const [title, members] of groups) {
    const section = element("section", { class: "group" }, element("h2", {}, title),
      element("p", { class: "quiet" }, description.tags.find((tag) => tag.name === title).description));
    const links = element("ul", {});
    for (const { method, path, operation } of members) {
      const details = element("details", { class: "card", id: operation.operationId },
        element("summary", {}, element("span", { class: `method ${method.toLowerCase()}` }, method), element("code", {}, ...breakable(path)),
          element("span", { class: "what" }, ...prose(operation.summary))));
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) fill(details, method, path, operation);
      });
      section.append(details);
      links.append(element("li", {}, element("a", { href: `#${operation.operationId}` }, operation.operationId.replaceAll("_", " "))));
    }
    contents.append(element("h2", {}, title), links);
    list.append(section);
  }
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const details of list.querySelectorAll("details.card")) {
      details.hidden = !`${details.id} ${details.firstElementChild.textContent}`.toLowerCase().includes(wanted);
    }
    for (const section of list.children) section.hidden = !section.querySelector("details.card:not([hidden])");
  });
  const bar = keyBar();
  main.replaceChildren(element("div", { class: "contents" }, filter, contents), element("div", {}, bar, list));
  main.classList.add("reference");
  openTarget();
  window.addEventListener("hashchange", openTarget);
}

function keyBar() {
  const names = Object.keys(examples.keys);
  const options = [...names.map((name) => element("option", { value: name }, `the ${name} key`)),
    element("option", { value: OWN }, names.length ? "another key" : "this key"), element("option", { value: "" }, "no key")];
  const who = element("select", { id: "who" }, ...options);
  const own = element("input", { id: "own", type: "password", autocomplete: "off", placeholder: "sk_…" });
  const label = element("label", {}, "Key ", own);
  label.hidden = names.length > 0;
  who.addEventListener("change", () => { label.hidden = who.value !== OWN; });
  const bar = element("form", { class: "key-bar" }, element("label", {}, "Send with ", who), label);
  bar.addEventListener("submit", (event) => event.preventDefault());
  return bar;
}

function openTarget() {
  const details = $(location.hash.slice(1));
  if (details?.tagName === "DETAILS") {
    details.open = true;
    details.scrollIntoView();
  }
}

async function begin() {
  try {
    const answer = await fetch("/openapi.json");
    if (!answer.ok) throw new Error(String(answer.status));
    description = await answer.json();
  } catch {
    // Keep the table.
    $("lost").hidden = false;
    return;
  }
  try {
    const answer = await fetch(EXAMPLES);
    if (answer.ok) examples = await answer.json();
  } catch { /* The fields stay empty. */ }
  const operations = [];
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) operations.push({ method: method.toUpperCase(), path, operation });
  }
  draw(operations);
}

begin();
