// Follows a job or a list of jobs: the page is read again whenever it changes, and running times count on.
import { addCopyButtons, readDocument } from "./frame.js";

const live = document.querySelector("[data-events]");
let isReading = false;
let isStale = false;
let readAt = performance.now();

function formatElapsed(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Parts that the reader opened stay open, and the focus stays where it is.
function replacePart(part, next) {
  for (const details of part.querySelectorAll("details[open]")) {
    next.querySelector(`#${CSS.escape(details.id)}`)?.setAttribute("open", "");
  }
  const shown = part.cloneNode(true);
  for (const button of shown.querySelectorAll(".copy")) button.remove();
  if (shown.isEqualNode(next)) return;
  for (const field of part.querySelectorAll("input:not([type=hidden])")) {
    const typed = next.querySelector(`#${CSS.escape(field.id)}`);
    if (typed) typed.value = field.value;
  }
  const focus = part.contains(document.activeElement) ? document.activeElement.id : "";
  part.replaceWith(next);
  addCopyButtons(next);
  if (focus) document.getElementById(focus)?.focus();
}

async function readPage() {
  const response = await fetch(location.href);
  if (!response.ok || response.redirected) return;
  const next = readDocument(await response.text());
  readAt = performance.now();
  for (const part of document.querySelectorAll("[data-live]")) {
    const newPart = next.getElementById(part.id);
    if (newPart) replacePart(part, document.importNode(newPart, true));
  }
}

async function refresh() {
  isStale = true;
  if (isReading) return;
  isReading = true;
  try {
    while (isStale) {
      isStale = false;
      await readPage();
    }
  } catch {
    // The server is away for a moment; the next event reads the page again.
  }
  isReading = false;
}

const events = new EventSource(live.dataset.events);
for (const name of ["job", "jobs"]) events.addEventListener(name, refresh);
events.addEventListener("end", () => {
  events.close();
  refresh();
});

const timer = setInterval(() => {
  for (const part of document.querySelectorAll("[data-elapsed]")) {
    part.textContent = formatElapsed(Number(part.dataset.elapsed) + (performance.now() - readAt) / 1000);
  }
}, 500);
addEventListener("pagehide", () => {
  clearInterval(timer);
  events.close();
});
