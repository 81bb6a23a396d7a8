// Signs in by the code after # in the address, which browsers never send to a server.
const status = document.getElementById("status");
const form = document.getElementById("form");

async function signIn(given) {
  status.textContent = "Signing in …";
  const response = await fetch("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
  });
  const answer = await response.json();
  if (response.ok) {
    status.textContent = `Signed in as ${answer.data.user}.`;
    form.remove();
    location.replace("/");
  } else {
    status.textContent = answer.message;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { link, login, password } = Object.fromEntries(new FormData(form));
  signIn(link ? { link } : { login, password });
});

const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  signIn({ link: code });
}
