// Searches while a person types, without loading the whole page again, and shows the chosen day of the year.
import { readDocument } from "./frame.js";

const form = document.getElementById("journal-search");
let timer = 0;
let latest = 0;

async function find() {
  const number = ++latest;
  const fields = new URLSearchParams(new FormData(form));
  const address = fields.get("q") ? `${form.action}?${fields}` : form.action;
  if (!fields.get("q") && !document.querySelector(".day")) {
    location.assign(address); // the page began with a search and has no calendar to show again
    return;
  }
  const response = await fetch(address);
  if (!response.ok || number !== latest) return;
  const next = readDocument(await response.text());
  document.getElementById("matches").replaceWith(document.importNode(next.getElementById("matches"), true));
  for (const part of document.querySelectorAll("section:not(.results)")) part.hidden = Boolean(fields.get("q"));
  history.replaceState(null, "", address);
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, 200);
});

// On a phone the year is wider than the screen: begin at the day that is shown.
const frame = document.querySelector(".heat-frame");
const chosen = document.getElementById("chosen-day");
if (chosen) frame.scrollLeft += chosen.getBoundingClientRect().left - frame.clientWidth / 2;
