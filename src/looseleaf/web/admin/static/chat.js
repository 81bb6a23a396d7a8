// Shows an answer while it comes, with a stop button, and sends by Ctrl+Enter; without this script, a form waits.
import { forget, prepare, signIn } from "./forms.js";
import { readDocument } from "./frame.js";

const form = document.getElementById("composer");
const live = document.getElementById("live");
const problem = document.getElementById("chat-problem");
const stop = document.getElementById("stop");
const send = document.getElementById("send");
const API = "/datamachine/v1/chat";
let session = form.dataset.session;
let answerBubble = null;

function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

function addMessage(kind, name, text) {
  const item = element("div", `message ${kind}`);
  const bubble = element("div", "said live", text);
  item.append(element("p", "meta", name), bubble);
  live.append(item);
  item.scrollIntoView({ block: "nearest" });
  return bubble;
}

function showProblem(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

function pageLink(file, revision) {
  const link = element("a", "", `Wrote ${file}, revision ${revision}`);
  link.href = `/admin/agents/${encodeURIComponent(form.dataset.agent)}/history/agent/${file.split("/").map(encodeURIComponent).join("/")}?revision=${revision}`;
  const line = element("p", "page-write");
  line.append(link);
  return line;
}

const HANDLERS = {
  began: (event) => {
    session = event.session;
  },
  said: (event) => {
    answerBubble ??= addMessage("agent", form.dataset.name, "");
    answerBubble.textContent += event.text;
    answerBubble.scrollIntoView({ block: "nearest" });
  },
  waiting: (event) => {
    live.append(element("p", "ending", `The provider is busy; asking again in ${Math.ceil(event.seconds)} seconds.`));
  },
  called: (event) => {
    const use = element("div", "tool-use");
    use.dataset.call = event.call;
    use.append(element("p", "quiet", `Using ${event.tool} …`));
    live.append(use);
    answerBubble = null;
  },
  returned: (event) => {
    const use = [...live.querySelectorAll("[data-call]")].findLast((one) => one.dataset.call === event.call);
    use?.replaceChildren(element("p", "quiet", `Used ${event.tool}${event.failed ? ": refused" : ""}`));
    for (const one of event.written) use?.append(pageLink(one.file, one.revision));
  },
  error: (event) => showProblem(event.message),
};

function take(part) {
  const lines = part.split("\n");
  const kind = lines.find((line) => line.startsWith("event: "))?.slice(7);
  const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
  if (kind && data) HANDLERS[kind]?.(JSON.parse(data));
}

async function readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    parts.forEach(take);
  }
}

function post(address, body, accept) {
  const headers = { "content-type": "application/json", "x-csrf-token": form.elements.csrf.value, accept };
  return fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
}

// The page of the server has the rendered answer, and links to the pages that were written.
async function showSaved() {
  const address = `/admin/agents/${encodeURIComponent(form.dataset.agent)}/chat/${encodeURIComponent(session)}`;
  if (!form.dataset.session) {
    location.assign(`${address}#end`);
    return;
  }
  const response = await fetch(address);
  if (!response.ok) return;
  const next = readDocument(await response.text());
  document.getElementById("conversation").replaceWith(document.importNode(next.getElementById("conversation"), true));
  live.replaceChildren();
  form.scrollIntoView({ block: "nearest" });
}

async function talk() {
  const message = form.elements.message.value;
  showProblem("");
  send.disabled = true;
  const refusal = await prepare(form);
  if (refusal === "ended") {
    signIn(form, send);
    return;
  }
  if (refusal) {
    showProblem(refusal);
    send.disabled = false;
    return;
  }
  stop.hidden = false;
  answerBubble = null;
  addMessage("person", "You", message);
  const place = session ? { session_id: session } : { agent: form.dataset.agent };
  try {
    const response = await post(API, { message, ...place }, "text/event-stream");
    if (response.ok) {
      form.elements.message.value = "";
      forget(form);
      await readEvents(response);
      if (session) await showSaved();
    } else {
      live.replaceChildren();
      showProblem((await response.json()).message);
    }
  } catch {
    showProblem("The connection to the server broke. The messages so far are kept; load the page again.");
  }
  send.disabled = false;
  stop.hidden = true;
  form.elements.message.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!send.disabled) talk();
});
stop.addEventListener("click", () => session && post(`${API}/sessions/${encodeURIComponent(session)}/cancel`, {}, "application/json"));
form.elements.message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit(send);
});
