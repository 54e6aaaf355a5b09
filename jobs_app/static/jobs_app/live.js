// Live regions: the page is fetched anew and its regions are swapped. It rests while nobody looks or something is in use.
import { fetchPage, swap } from "./regions.js";
import { tellTimes } from "./times.js";

const REMEMBERED = "jobs_app.refresh";
const LONGEST = 300;

export function startLive() {
  const control = document.querySelector("[data-jobs-live-control]");
  if (!control || !control.dataset.seconds || !document.querySelector("[data-jobs-live]")) return;
  const select = control.querySelector("[data-jobs-live-seconds]");
  const remembered = localStorage.getItem(REMEMBERED);
  select.value = remembered ?? control.dataset.seconds;
  if (!select.value) select.value = "15";
  control.hidden = false;
  const live = new Live(select);
  select.addEventListener("change", () => {
    localStorage.setItem(REMEMBERED, select.value);
    live.plan();
  });
  document.addEventListener("visibilitychange", () => !document.hidden && live.plan(1));
  document.addEventListener("jobs:toggle-live", () => {
    select.value = select.value === "0" ? control.dataset.seconds : "0";
    select.dispatchEvent(new Event("change"));
  });
  live.plan();
}

class Live {
  constructor(select) {
    this.select = select;
    this.failures = 0;
    this.timer = null;
  }

  plan(seconds = Number(this.select.value)) {
    clearTimeout(this.timer);
    if (Number(this.select.value) === 0) return;
    const wait = Math.min(LONGEST, seconds * 2 ** this.failures);
    this.timer = setTimeout(() => this.turn(), wait * 1000);
  }

  async turn() {
    if (!document.hidden && !isInUse()) {
      try {
        const page = await fetchPage(location.href);
        for (const region of document.querySelectorAll("[data-jobs-live]")) swap(region, page);
        tellTimes();
        say(page);
        this.failures = 0;
      } catch {
        this.failures += 1;
      }
    }
    this.plan();
  }
}

// One sentence for who cannot see the page change.
function say(page) {
  const sentence = page.querySelector("[data-jobs-say]")?.textContent.trim();
  const place = document.getElementById("jobs-said");
  if (sentence && place && place.textContent !== sentence) place.textContent = sentence;
}

function isInUse() {
  const active = document.activeElement;
  const isTyping = active && active.matches("input, select, textarea") && !active.matches("[data-jobs-live-seconds]");
  return isTyping || !getSelection().isCollapsed || document.querySelector("dialog[open]") !== null;
}
