// Makes the editor quicker: a live preview, the outline as links, Ctrl+S, a warning before text is lost.
import { readDocument } from "./frame.js";

const form = document.getElementById("editor");

function start() {
  const text = document.getElementById("text");
  const preview = document.getElementById("preview");
  const outline = document.getElementById("outline");
  const original = text.value;
  let isSaving = false;
  let timer = 0;
  let latest = 0;

  async function refresh() {
    const number = ++latest;
    const body = new URLSearchParams({ csrf: form.elements.csrf.value, content: text.value });
    const response = await fetch(form.dataset.preview, { method: "POST", body });
    if (!response.ok || number !== latest) return;
    const answer = await response.json();
    preview.replaceChildren(...readDocument(answer.html).body.childNodes);
    document.getElementById("gauge-text").textContent = answer.gauge;
    document.getElementById("gauge-fill")?.setAttribute("width", answer.percent);
    document.getElementById("gauge").classList.toggle("over", answer.is_over);
    outline.replaceChildren(...answer.sections.map(entry));
  }

  function entry(section) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const size = document.createElement("span");
    link.href = "#";
    link.dataset.offset = section.offset;
    link.textContent = section.name;
    size.className = "quiet";
    size.textContent = section.size;
    item.append(link, " ", size);
    return item;
  }

  document.getElementById("preview-button").hidden = true;
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  });
  outline.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-offset]");
    if (!link) return;
    event.preventDefault();
    // Offsets of the server count characters, those of a text field count UTF-16 units.
    const place = [...text.value].slice(0, Number(link.dataset.offset)).join("").length;
    text.focus();
    text.setSelectionRange(place, place);
    const line = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = Math.max(0, (text.value.slice(0, place).split("\n").length - 2) * line);
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      form.querySelector("button[value=save]").click();
    }
  });
  form.addEventListener("submit", () => {
    isSaving = true;
  });
  addEventListener("beforeunload", (event) => {
    if (!isSaving && text.value !== original) event.preventDefault();
  });
}

if (form) start();
