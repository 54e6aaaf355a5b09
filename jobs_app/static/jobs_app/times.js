// Relative times stay true while the page stands.

const EVERY = 5000; // milliseconds
const UNITS = [["d", 86400], ["h", 3600], ["m", 60]];

export function startTimes() {
  setInterval(tellTimes, EVERY);
}

export function tellTimes() {
  for (const time of document.querySelectorAll("time[data-jobs-when]")) {
    const seconds = Math.round((Date.now() - Date.parse(time.dateTime)) / 1000);
    const text = time.dataset[seconds >= 0 ? "ago" : "ahead"];
    if (text && seconds !== 0) time.textContent = text.replace("{}", rough(Math.abs(seconds)));
  }
}

function rough(seconds) {
  const parts = [];
  for (const [letter, size] of UNITS) {
    if (seconds >= size) parts.push(`${Math.floor(seconds / size)}${letter}`);
    seconds %= size;
  }
  if (seconds) parts.push(`${seconds}s`);
  return parts.slice(0, 2).join(" ");
}
