// Uploads files with their progress, one after the other; without this script, the form sends one file.
import { prepare, signIn } from "./forms.js";
import { readDocument } from "./frame.js";

const form = document.getElementById("upload");
const status = document.getElementById("upload-status");
const bar = document.getElementById("upload-progress");
const stop = document.getElementById("upload-stop");
const send = form.querySelector("button[value=upload]");
const field = form.elements.file;
let request = null;

field.multiple = true;

function tell(text, isBad = false) {
  status.textContent = text;
  status.className = isBad ? "warn-text" : "";
}

function showProgress(name, event) {
  if (!event.lengthComputable) return;
  const percent = Math.floor((100 * event.loaded) / event.total);
  bar.firstElementChild.value = percent;
  tell(`${name}: ${percent} %`);
}

// Uploads one file; gives the problem as a sentence, or "" where the file is stored.
function upload(file) {
  return new Promise((resolve) => {
    const body = new FormData();
    body.append(form.dataset.place, form.dataset.id);
    body.append("file", file);
    request = new XMLHttpRequest();
    request.open("POST", "/datamachine/v1/files");
    request.setRequestHeader("x-csrf-token", form.elements.csrf.value);
    request.upload.addEventListener("progress", (event) => showProgress(file.name, event));
    request.addEventListener("load", () => resolve(request.status === 200 ? "" : readMessage(request)));
    request.addEventListener("error", () => resolve("The connection to the server broke. Nothing was stored."));
    request.addEventListener("abort", () => resolve("Stopped. Nothing was stored."));
    request.send(body);
  });
}

function readMessage(answer) {
  try {
    return JSON.parse(answer.responseText).message;
  } catch {
    return `The server refused the file (${answer.status}).`;
  }
}

async function showSaved() {
  const response = await fetch(location.href);
  if (!response.ok) return;
  const next = readDocument(await response.text());
  for (const id of ["file-list", "slice"]) {
    const part = next.getElementById(id);
    if (part) document.getElementById(id)?.replaceWith(document.importNode(part, true));
  }
}

async function uploadAll(files) {
  const refusal = await prepare(form);
  if (refusal === "ended") {
    signIn(form, send);
    return;
  }
  if (refusal) {
    tell(refusal, true);
    return;
  }
  send.disabled = true;
  stop.hidden = false;
  bar.hidden = false;
  const names = [];
  let problem = "";
  for (const file of files) {
    bar.firstElementChild.value = 0;
    if (file.size > Number(form.dataset.most)) problem = `${file.name} is larger than the limit.`;
    else problem = await upload(file);
    if (problem) break;
    names.push(file.name);
  }
  await showSaved();
  bar.hidden = true;
  stop.hidden = true;
  send.disabled = false;
  const stored = names.length ? `Uploaded: ${names.join(", ")}.` : "";
  tell([stored, problem].filter(Boolean).join(" "), Boolean(problem));
  if (!problem) field.value = "";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!send.disabled && field.files.length) uploadAll([...field.files]);
});
stop.addEventListener("click", () => request?.abort());
