// Shows a notice when the open page was changed elsewhere.
const place = document.querySelector("[data-changes]");
const note = document.getElementById("elsewhere");

if (place?.dataset.version) {
  const source = new EventSource(`${place.dataset.changes}?version=${place.dataset.version}`);
  source.addEventListener("changed", (event) => {
    const { message, address } = JSON.parse(event.data);
    const isEditing = Boolean(document.getElementById("editor"));
    const link = document.createElement("a");
    link.href = address;
    link.textContent = "Show the difference";
    if (isEditing) link.target = "_blank";
    note.replaceChildren(message, isEditing ? " Saving will keep both. " : " ", link);
    note.hidden = false;
    source.close();
  });
  addEventListener("pagehide", () => source.close());
}
