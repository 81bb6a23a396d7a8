// Lists every operation of /openapi.json, and lets a signed-in person try them.
const list = document.getElementById("list");
const who = document.getElementById("who");
let csrf = "";

function element(tag, text = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, content] of Object.entries(attributes)) node.setAttribute(name, content);
  return node;
}

async function showUser() {
  const response = await fetch("/session");
  if (response.ok) {
    const { data } = await response.json();
    csrf = data.csrf ?? "";
    who.textContent = `You are ${data.user}.`;
  } else {
    who.append("You are not signed in. ", element("a", "Sign in", { href: "/login?next=/admin" }), ".");
  }
}

function buildTable(operation) {
  const table = element("table");
  for (const one of operation.parameters ?? []) {
    const row = element("tr");
    row.append(
      element("td", one.name + (one.required ? " *" : "")),
      element("td", one.in),
      element("td", one.description ?? ""),
    );
    table.append(row);
  }
  const body = operation.requestBody?.content?.["application/json"]?.schema;
  for (const [name, one] of Object.entries(body?.properties ?? {})) {
    const row = element("tr");
    const needed = body.required?.includes(name) ? " *" : "";
    row.append(element("td", name + needed), element("td", "body"), element("td", one.description ?? ""));
    table.append(row);
  }
  return table;
}

function buildForm(method, path, operation) {
  const form = element("form");
  const address = element("input", "", { name: "address", "aria-label": "Address" });
  address.value = path;
  form.append(address);
  let body = null;
  if (operation.requestBody) {
    body = element("input", "", { name: "body", placeholder: "{ } as JSON", "aria-label": "Body" });
    form.append(body);
  }
  const output = element("pre");
  output.hidden = true;
  form.append(element("button", "Try"), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const headers = csrf ? { "x-csrf-token": csrf } : {};
    if (body) headers["content-type"] = "application/json";
    const response = await fetch(address.value, {
      method: method.toUpperCase(),
      headers,
      body: body ? body.value || "{}" : undefined,
    });
    output.hidden = false;
    output.textContent = `${response.status}\n${await response.text()}`;
  });
  return form;
}

function buildEntry(method, path, operation) {
  const details = element("details");
  const summary = element("summary");
  summary.append(
    element("span", method.toUpperCase(), { class: "method" }),
    element("code", path),
    ` ${operation.summary ?? ""}`,
  );
  const answers = Object.entries(operation.responses)
    .map(([status, one]) => `${status} ${one.description}`)
    .join("\n");
  details.append(summary, element("p", operation.description ?? ""));
  details.append(buildTable(operation), element("pre", answers), buildForm(method, path, operation));
  return details;
}

async function listOperations() {
  const { paths } = await (await fetch("/openapi.json")).json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "other";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(buildEntry(method, path, operation));
    }
  }
  list.textContent = "";
  for (const [tag, entries] of groups) list.append(element("h2", tag), ...entries);
}

showUser();
listOperations();
