// Signs in by the code after # in the address, which browsers never send to a server.
const status = document.getElementById("status");
const form = document.getElementById("form");

function next() {
  const address = form.elements.next.value;
  return address.startsWith("/admin") ? address : "/admin";
}

async function goOn() {
  const response = await fetch("/session");
  if (response.ok) location.replace(next());
}

async function signIn(link) {
  status.textContent = "Signing in …";
  const response = await fetch("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ link }),
  });
  if (response.ok) {
    location.replace(next());
  } else {
    status.textContent = (await response.json()).message;
    status.className = "note bad";
  }
}

const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname + location.search);
  signIn(code);
} else if (form.elements.next.value && !status.classList.contains("bad")) {
  // A browser sends no cookie after a link on another site, even where the person is signed in.
  await goOn();
  // The link was opened in another tab.
  addEventListener("focus", goOn);
}
