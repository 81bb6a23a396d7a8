// Shows another revision while the slider moves, without loading the whole page again.
import { readDocument } from "./frame.js";

const form = document.getElementById("timeline");
let latest = 0;

async function show() {
  const number = ++latest;
  const address = `${location.pathname}?${new URLSearchParams(new FormData(form))}`;
  document.getElementById("slider-value").textContent = form.elements.revision.value;
  const response = await fetch(address);
  if (!response.ok || number !== latest) return;
  const next = readDocument(await response.text());
  for (const part of ["#version", "aside"]) {
    document.querySelector(part).replaceWith(document.importNode(next.querySelector(part), true));
  }
  history.replaceState(null, "", address);
}

if (form) {
  form.querySelector("button").hidden = true;
  form.addEventListener("input", show);
}
