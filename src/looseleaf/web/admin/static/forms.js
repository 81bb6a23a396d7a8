// Loses nothing that is typed: a draft of every form until the server has taken it, and a fresh proof of the session.
// A form hides its own `action` and `method` behind fields of these names: attributes are read instead.
const PREFIX = "looseleaf-draft ";
const TAKEN = "looseleaf_taken";
const SECRET = /^(password|file|submit|button|reset|image)$/;
const OWN = new Set(["csrf", "frame:draft"]);
const OFFLINE = "There is no connection to the server. Nothing is saved yet; what you typed stays here. Try again in a moment.";
const place = location.pathname + location.search;
const user = document.body.dataset.user;
const main = document.getElementById("content");
let timer = 0;

function listForms() {
  return [...main.querySelectorAll("form[data-form]")].filter((form) => !("sure" in form.dataset));
}

function keyOf(form) {
  const address = new URL(form.getAttribute("action") ?? "", location.href);
  return `${PREFIX}${address.pathname}${address.search} ${form.dataset.form}`;
}

function listFields(form) {
  return [...form.elements].filter((field) => field.name && !SECRET.test(field.type) && !OWN.has(field.name));
}

function isTyped(form) {
  return listFields(form).some((field) => field.type !== "hidden");
}

function hasSecret(form) {
  return [...form.elements].some((field) => /^(password|file)$/.test(field.type) && field.value);
}

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

// A browser that stores nothing, or no more, still sends the form.
function keep(form, more = {}) {
  if (!isTyped(form)) return "";
  const key = keyOf(form);
  const id = read(key)?.id ?? crypto.randomUUID?.() ?? String(Date.now());
  const fields = listFields(form).map((field) => [field.name, field.value, field.checked ?? false]);
  try {
    sessionStorage.setItem(key, JSON.stringify({ id, user, fields, time: Date.now(), ...more }));
  } catch {
    return "";
  }
  return id;
}

function fill(form, draft) {
  const fields = listFields(form);
  for (const [name, value, isOn] of draft.fields) {
    const isChoice = (field) => field.type === "checkbox" || field.type === "radio";
    for (const field of fields.filter((one) => one.name === name)) {
      if (!isChoice(field)) field.value = value;
      else if (field.value === value) field.checked = isOn;
    }
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

function isSame(form, draft) {
  const now = listFields(form).filter((field) => field.type !== "hidden");
  return now.every((field) => {
    const kept = draft.fields.find(([name, value]) => name === field.name && (field.type !== "radio" || value === field.value));
    if (!kept) return true;
    return field.type === "checkbox" || field.type === "radio" ? kept[2] === field.checked : kept[1] === field.value;
  });
}

function showNote(form, text, ...actions) {
  form.querySelector(":scope > .draft")?.remove();
  const note = document.createElement("p");
  note.className = "note warn draft";
  note.setAttribute("role", "alert");
  note.append(text, ...actions);
  form.prepend(note);
  note.scrollIntoView({ block: "nearest" });
}

function button(text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.className = "small";
  made.addEventListener("click", act);
  return made;
}

// Finds out whether a form can be sent, and gives it the proof of the present session. Returns "" or the problem:
// "ended" where nobody is signed in any more, else a sentence.
export async function prepare(form) {
  let response;
  try {
    response = await fetch("/session", { cache: "no-store" });
  } catch {
    return OFFLINE;
  }
  if (response.status === 401) return "ended";
  if (!response.ok) return `The server cannot take this now (${response.status}). What you typed stays here.`;
  const { data } = await response.json();
  if (data.user !== user) return `You are signed in as ${data.user} now, in another tab. What you typed as ${user} stays here.`;
  if (form.elements.csrf) form.elements.csrf.value = data.csrf;
  return "";
}

// After the sign-in this page is opened again, and the draft is sent.
export function signIn(form, submitter) {
  const isWhole = !hasSecret(form);
  if (form.dataset.form) keep(form, isWhole ? { press: submitter ? [submitter.name, submitter.value] : [] } : {});
  location.assign(`/login?next=${encodeURIComponent(place)}`);
}

async function send(form, submitter) {
  const id = form.dataset.form && main.contains(form) ? keep(form) : "";
  const problem = await prepare(form);
  if (problem === "ended") {
    signIn(form, submitter);
    return;
  }
  if (problem) {
    showNote(form, problem);
    return;
  }
  if (form.getAttribute("action") === "/logout") forgetAll();
  if (id) {
    const field = form.elements["frame:draft"] ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "frame:draft" }));
    field.value = id;
  }
  form.dataset.ready = "";
  form.requestSubmit(submitter);
  delete form.dataset.ready;
}

// A script has sent the form by itself.
export function forget(form) {
  clearTimeout(timer);
  sessionStorage.removeItem(keyOf(form));
}

function forgetAll() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

// The server names the draft that it has taken; anything else was refused or did not arrive.
function forgetTaken() {
  const taken = document.cookie.split("; ").find((one) => one.startsWith(`${TAKEN}=`))?.slice(TAKEN.length + 1);
  if (!taken) return;
  document.cookie = `${TAKEN}=; path=/admin; max-age=0; samesite=strict`;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX) && read(key)?.id === taken) sessionStorage.removeItem(key);
}

function offer(form) {
  const key = keyOf(form);
  const draft = read(key);
  if (!draft) return;
  if (draft.user !== user || isSame(form, draft)) {
    sessionStorage.removeItem(key);
  } else if (draft.press) {
    const [name, value] = draft.press;
    fill(form, draft);
    keep(form);
    send(form, [...form.querySelectorAll("button")].find((one) => one.name === name && one.value === value));
  } else {
    const forget = button("Forget it", (event) => {
      sessionStorage.removeItem(key);
      event.target.closest(".draft").remove();
    });
    const putBack = button("Put it back", (event) => {
      event.target.closest(".draft").remove();
      fill(form, draft);
    });
    showNote(form, "What you typed here last was not saved.", putBack, forget);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post" || "ready" in form.dataset) return;
  event.preventDefault();
  if ("sending" in form.dataset) return;
  form.dataset.sending = "";
  send(form, event.submitter).finally(() => delete form.dataset.sending);
});

function note(event) {
  const form = event.target.form ?? event.target.closest?.("form");
  if (!form?.dataset.form || !main.contains(form) || "sure" in form.dataset) return;
  clearTimeout(timer);
  timer = setTimeout(() => keep(form), 300);
}
document.addEventListener("input", note);
main.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-discard]");
  if (link) for (const form of listForms()) sessionStorage.removeItem(keyOf(form));
});

forgetTaken();
if (!document.querySelector("main > .note.bad")) listForms().filter(isTyped).forEach(offer);
