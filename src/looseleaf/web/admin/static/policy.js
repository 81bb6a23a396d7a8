// Shows what a policy would change while its form is filled in; a button does the same without this script.
import { readDocument } from "./frame.js";

const form = document.getElementById("policy");
let timer = 0;
let latest = 0;

async function refresh() {
  const number = ++latest;
  const body = new URLSearchParams(new FormData(form));
  body.set("action", "preview");
  const response = await fetch(location.pathname, { method: "POST", body });
  if (number !== latest) return;
  const answer = readDocument(await response.text());
  const preview = document.importNode(answer.getElementById("preview"), true);
  const problem = answer.querySelector("[role=alert]");
  if (problem) {
    const note = document.createElement("p");
    note.className = "note bad";
    note.textContent = problem.textContent;
    preview.querySelector("h2").after(note);
  }
  document.getElementById("preview").replaceWith(preview);
}

if (form?.querySelector("#preview-button")) {
  form.querySelector("#preview-button").hidden = true;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  });
}

// Offers the models of the providers once a field for a model is entered; the page never waits for them.
const models = document.getElementById("models");

async function offerModels() {
  const response = await fetch(models.dataset.address).catch(() => null);
  if (!response?.ok) return;
  const { data } = await response.json();
  for (const name of data.flatMap((offer) => offer.models)) models.append(new Option("", name));
}

form?.addEventListener("focusin", function enter(event) {
  if (event.target.list !== models) return;
  form.removeEventListener("focusin", enter);
  offerModels();
});
