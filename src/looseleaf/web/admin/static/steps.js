// Shows of each step the settings that count with what is chosen, and lets steps be dragged; all else works without it.
const form = document.getElementById("steps-form") ?? document.getElementById("settings-form");

function valueOf(box, name) {
  const field = [...box.querySelectorAll(".field")].find((one) => one.dataset.name === name);
  const control = field?.querySelector("select, input, textarea");
  return control?.value || control?.getAttribute("placeholder") || field?.dataset.default || "";
}

function refresh(box) {
  for (const field of box.querySelectorAll("[data-when]")) {
    const fits = Object.entries(JSON.parse(field.dataset.when)).every(([name, texts]) => texts.includes(valueOf(box, name)));
    const isFilled = [...field.querySelectorAll("select, input:not([type=checkbox], [type=hidden]), textarea")].some((one) => one.value);
    field.hidden = !fits && !isFilled && !field.classList.contains("wrong");
    field.classList.toggle("idle", !fits);
  }
}

if (form) {
  form.classList.add("live");
  for (const box of form.querySelectorAll(".step")) refresh(box);
  form.addEventListener("change", (event) => {
    const box = event.target.closest(".step");
    if (box) refresh(box);
  });
}

// A step that is dropped before another takes its place: the fields keep their numbers in the order of the page.
let dragged = null;
function renumber() {
  [...form.querySelectorAll(".step")].forEach((box, number) => {
    for (const one of box.querySelectorAll("[name]")) one.name = one.name.replace(/^s\d+\./, `s${number}.`);
    for (const one of box.querySelectorAll("button[value^='steps:']")) one.value = one.value.replace(/\d+$/, number);
  });
  document.getElementById("unsaved")?.removeAttribute("hidden");
}
for (const handle of form?.querySelectorAll(".handle") ?? []) {
  handle.hidden = false;
  const box = handle.closest(".step");
  handle.addEventListener("dragstart", (event) => {
    dragged = box;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.setDragImage(box, 12, 12);
  });
  box.addEventListener("dragover", (event) => {
    if (dragged && dragged !== box) event.preventDefault();
  });
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!dragged || dragged === box) return;
    const isBelow = dragged.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING;
    box[isBelow ? "after" : "before"](dragged);
    dragged = null;
    renumber();
  });
}
