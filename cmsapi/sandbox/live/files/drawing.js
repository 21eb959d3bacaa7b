// What the parts of the page draw with. Texts are inserted as texts only.
export const $ = (id) => document.getElementById(id);
export const count = new Intl.NumberFormat("en");
export const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
// A phone shows so many rows of a table before a button shows the others: it scrolls the page, and not a part of it.
const MAX_PHONE_ROWS = 6;
const phone = matchMedia("(max-width: 40rem)");
const unfolded = new Set();

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function span(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

// Keeps one child for each item as long as the item exists, so that focus and selection survive.
export function updateChildren(parent, items, key, make, update) {
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

// Returns the rows to show now, and shows a button for the others.
export function fold(name, rows, redraw) {
  const button = $(`${name}-more`);
  const most = phone.matches && !unfolded.has(name) ? MAX_PHONE_ROWS : rows.length;
  button.hidden = rows.length <= most;
  put(button, `Show all ${count.format(rows.length)}`);
  button.onclick = () => {
    unfolded.add(name);
    redraw();
    $(`${name}-table`).focus();
  };
  return rows.slice(0, most);
}
