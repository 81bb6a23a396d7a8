// Keyboard shortcuts, the help sheet and copy buttons; every page works without them.
const PLACE = ".side .of-agent a";
const GO = { a: "/admin", p: `${PLACE}[href$='/pages']`, s: `${PLACE}[href$='/prompt']`, j: `${PLACE}[href$='/journal']`, c: `${PLACE}[href$='/chat']` };
const search = document.getElementById("search");
const sheet = document.getElementById("shortcuts");
let pending = "";

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

async function showShortcuts() {
  if (!sheet.childElementCount) {
    const response = await fetch("/admin/shortcuts");
    const list = readDocument(await response.text()).getElementById("keys");
    const title = document.createElement("h2");
    title.textContent = "Keyboard shortcuts";
    if (list) sheet.replaceChildren(title, document.importNode(list, true));
  }
  if (!sheet.open) sheet.showModal();
}

const policy = window.trustedTypes?.createPolicy("looseleaf", { createHTML: (text) => text });

// The HTML was rendered and sanitised by our own server.
export function readDocument(text) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
}

function moveEntry(step) {
  const entries = [...document.querySelectorAll("[data-entry]")];
  if (!entries.length) return;
  const here = entries.indexOf(document.activeElement);
  entries[here < 0 ? (step > 0 ? 0 : entries.length - 1) : Math.min(entries.length - 1, Math.max(0, here + step))].focus();
}

function go(key) {
  const target = GO[key];
  if (!target) return;
  const address = target.startsWith("/") ? target : document.querySelector(target)?.href;
  if (address) location.assign(address);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && isTyping(event.target)) {
    event.target.blur();
    return;
  }
  if (isTyping(event.target) || sheet.open) return;
  if (pending === "g") {
    pending = "";
    go(event.key);
    return;
  }
  const tab = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "g") pending = "g";
  else if (event.key === "/") search.focus();
  else if (event.key === "?") showShortcuts();
  else if (event.key === "j") moveEntry(1);
  else if (event.key === "k") moveEntry(-1);
  else if (tab) tab.click();
  else return;
  event.preventDefault();
});

// On a phone the navigation is a row to swipe: begin at the page that is shown.
for (const link of document.querySelectorAll(".side .here")) {
  const row = link.closest(".places") ?? link.closest("ul");
  row.scrollLeft += link.getBoundingClientRect().left - row.getBoundingClientRect().left - 16;
}

document.getElementById("shortcuts-link").addEventListener("click", (event) => {
  event.preventDefault();
  showShortcuts();
});

export function addCopyButtons(root) {
  for (const command of root.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    command.append(button);
  }
}
addCopyButtons(document);
