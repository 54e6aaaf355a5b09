// Keys: off while somebody types; `?` lists them.

const PATIENCE = 1500; // milliseconds between `g` and the letter of a page, as they were typed: the page may be busy

export function startKeys() {
  let goUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.timeStamp < goUntil && followNav(event.key)) return;
    goUntil = 0;
    if (event.key === "g") goUntil = event.timeStamp + PATIENCE;
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "r") document.dispatchEvent(new CustomEvent("jobs:toggle-live"));
    else if (event.key === "?") document.getElementById("jobs-keys")?.showModal();
    else if (event.key === "/") focusSearch(event);
    else if (event.key === "Enter" && event.target.matches(".jobs-table tbody tr")) event.target.querySelector("a")?.click();
  });
}

function isTyping(element) {
  return element.matches("input, select, textarea, [contenteditable]") || element.closest("dialog") !== null;
}

function followNav(key) {
  const link = document.querySelector(`.jobs-nav a[data-jobs-key="${CSS.escape(key)}"]`);
  link?.click();
  return link !== null;
}

function move(step) {
  const rows = [...document.querySelectorAll(".jobs-table tbody tr")];
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(document.activeElement) + step))];
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
}

function focusSearch(event) {
  const search = document.querySelector(".jobs-filters input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
}
