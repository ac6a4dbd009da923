// The page of the example, and what it shares with the pages of the provider.

const STYLE = `
:root { color-scheme: light dark; font: 1.125rem/1.6 system-ui, sans-serif }
body { max-width: 30rem; margin: 12vh auto 3rem; padding: 0 1.5rem; overflow-wrap: anywhere }
h1 { line-height: 1.2 }
form, .row { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: 1.5rem 0 }
.row > span { flex: 1 }
button, .button {
  display: inline-block; font: inherit; padding: .5rem 1.1rem; border: 1px solid #2457c5; border-radius: .5rem;
  background: #2457c5; color: #fff; text-decoration: none; cursor: pointer;
}
button.plain { background: none; color: inherit; border-color: GrayText }
[role=alert] { border-left: .25rem solid #c62828; padding-left: 1rem }
[hidden] { display: none }
`

/** The policy of the pages: scripts and calls only of the same server. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'",
}

/** Returns a page. */
export function renderPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${content}
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** The page at `/`. Its script decides which parts to show. */
export const HOME_PAGE = renderPage(
  'Sign in',
  `<p role="alert" id="error" hidden></p>
<section id="guest" hidden>
<p>You are not logged in. The provider is a part of this example: it needs no internet.</p>
<p><a class="button" id="sign-in" href="/oauth/example">Sign in with Example</a></p>
</section>
<section id="somebody" hidden>
<p>You are <strong id="name"></strong>, <span id="email"></span>.</p>
<div class="row"><span>Example</span><button class="plain" data-provider="example"></button></div>
<div class="row"><span>Sample</span><button class="plain" data-provider="sample"></button></div>
<p><button id="log-out">Log out</button></p>
</section>
<form id="link" method="post" hidden><input name="feathers_token" type="hidden"></form>
<script type="module" src="/page.js"></script>`,
)

/** The script of the page, for browsers. */
export const PAGE_SCRIPT = `
const element = (id) => document.getElementById(id)

async function call(method, path, token) {
  const response = await fetch(path, { method, headers: { authorization: 'Bearer ' + token } })
  const body = await response.json()
  return response.ok ? body : Promise.reject(new Error(body.message))
}

// What a login has put behind the # of the address, where no server and no log sees it.
function takeOutcome() {
  const outcome = new URLSearchParams(location.hash.slice(1))
  history.replaceState(null, '', location.pathname)
  const begun = sessionStorage.getItem('begun') !== null
  sessionStorage.removeItem('begun')
  // Anyone can send a link with their own token: only logins begun here count.
  return begun ? outcome : new URLSearchParams()
}

function show(me) {
  document.querySelector('h1').textContent = me === null ? 'Sign in' : 'Your account'
  element('guest').hidden = me !== null
  element('somebody').hidden = me === null
  if (me === null) return
  element('name').textContent = me.name
  element('email').textContent = me.email
  for (const button of document.querySelectorAll('[data-provider]')) {
    const { provider } = button.dataset
    const isLinked = me.linked.includes(provider)
    button.textContent = isLinked ? 'Unlink' : 'Link an account'
    button.onclick = () => (isLinked ? unlink(provider) : link(provider))
  }
}

function showError(message) {
  element('error').textContent = message
  element('error').hidden = message === null
}

function link(provider) {
  sessionStorage.setItem('begun', 'yes')
  element('link').action = '/oauth/' + provider
  element('link').feathers_token.value = token
  element('link').submit()
}

async function unlink(provider) {
  try {
    show(await call('DELETE', '/links/' + provider, token))
    showError(null)
  } catch (error) {
    showError(error.message)
  }
}

element('sign-in').onclick = () => sessionStorage.setItem('begun', 'yes')

element('log-out').onclick = async () => {
  sessionStorage.removeItem('token')
  show(null)
  showError(null)
  await call('DELETE', '/authentication', token).catch((error) => showError(error.message))
}

const outcome = takeOutcome()
const token = outcome.get('access_token') ?? sessionStorage.getItem('token')
showError(outcome.get('error'))
if (token === null) show(null)
else {
  try {
    show(await call('GET', '/me', token))
    sessionStorage.setItem('token', token)
  } catch (error) {
    sessionStorage.removeItem('token')
    showError(error.message)
    show(null)
  }
}
`
