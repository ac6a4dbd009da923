import { createHash } from 'node:crypto'

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d9dce3, #33363f); --dim: light-dark(#5d6472, #a0a6b4);
  --good: light-dark(#1b7a43, #5fd08b); --bad: light-dark(#b3261e, #ff8a80); --warn: light-dark(#8a5a00, #f0b95c);
  --soft: light-dark(#f3f4f7, #22242b) }
* { box-sizing: border-box }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; background: light-dark(#fff, #17181c);
  color: light-dark(#1c1e24, #e8eaef) }
header { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; padding: 12px 20px;
  border-bottom: 1px solid var(--line) }
h1 { font-size: 16px; margin: 0 } h2 { font-size: 15px; margin: 24px 0 8px }
header span, .dim { color: var(--dim) }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 540px); gap: 0 32px; padding: 0 20px 32px }
@media (max-width: 1180px) { main { grid-template-columns: minmax(0, 1fr) } }
table { border-collapse: collapse; width: 100% }
th { text-align: left; font-weight: 600; color: var(--dim) }
th, .line { white-space: nowrap }
code, td, summary { overflow-wrap: anywhere }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
code, pre { font: 12.5px/1.5 ui-monospace, monospace }
pre { overflow: auto; max-height: 400px; background: var(--soft); padding: 8px 12px; margin: 4px 0 }
.success { color: var(--good) } .fault { color: var(--bad) } .refusal { color: var(--warn) }
#services > details { border: 1px solid var(--line); border-radius: 6px; margin-bottom: 8px; padding: 8px 12px }
summary { cursor: pointer } summary b { margin-right: 8px }
details table { margin-top: 8px }
td[data-kind] { min-width: 100px }
.hook { display: inline-block; background: var(--soft); border-radius: 4px; padding: 0 6px; margin: 1px 4px 1px 0 }
.filters { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; margin-bottom: 8px }
input[type=search] { font: inherit; padding: 2px 8px; width: 200px }
@media (max-width: 640px) {
  #services th { display: none }
  #services td { display: block; border: 0; padding: 1px 0 }
  #services td:first-child { border-top: 1px solid var(--line); padding-top: 6px }
  #services td[data-kind]::before { content: attr(data-kind) ' '; color: var(--dim) }
  #services td.none { display: none }
  main { padding: 0 12px 32px }
  th, td { padding-right: 8px }
}
`

const SCRIPT = `
const base = location.pathname.replace(/\\/$/, '') + document.documentElement.dataset.base
const find = (id) => document.getElementById(id)

/** Returns an element with children; strings become text. */
function create(tag, className, ...children) {
  const element = document.createElement(tag)
  if (className) element.className = className
  element.append(...children)
  return element
}

function showState(text) { find('state').textContent = text }

async function read(name) {
  const response = await fetch(base + '/' + name)
  if (!response.ok) throw new Error(response.status)
  return response.json()
}

/** Returns the name of a call that may continue on the next line after each of its parts. */
function createName(name) {
  return create('code', '', ...name.split(/(?<=[/.])/).flatMap((part) => [part, create('wbr')]))
}

function createCallRow(call) {
  const { endedAt, path, method, provider, outcome, code, durationMs, databaseCalls } = call
  const kind = code === undefined ? 'success' : code < 500 ? 'refusal' : 'fault'
  return create('tr', '',
    create('td', 'dim line', new Date(endedAt).toTimeString().slice(0, 8)),
    create('td', '', createName(path + '.' + method), create('span', 'dim', ' ' + (provider ?? 'internal'))),
    create('td', kind, code === undefined ? outcome : code + ' ' + outcome),
    create('td', 'number', durationMs.toFixed(1)),
    create('td', 'number', String(databaseCalls ?? '')))
}

function createHookCell(kind, names) {
  const cell = names.length === 0
    ? create('td', 'none dim', '\\u2013')
    : create('td', '', ...names.map((name) => create('code', 'hook', name)))
  cell.dataset.kind = kind
  return cell
}

function createMethodRows({ name, isExternal, hooks, schemas }) {
  const row = create('tr', '',
    create('td', '', create('code', '', name), isExternal ? '' : create('span', 'dim', ' internal')),
    ...['before', 'after', 'error'].map((kind) => createHookCell(kind, hooks[kind])))
  if (schemas === null) return [row]
  const parts = Object.entries(schemas).filter(([, schema]) => typeof schema === 'object')
  const cell = create('td', '', create('details', '', create('summary', 'dim', 'schemas of ' + name),
    ...parts.flatMap(([kind, schema]) => [kind, create('pre', '', JSON.stringify(schema, null, 2))])))
  cell.colSpan = 4
  return [row, create('tr', '', cell)]
}

function createService({ path, className, events, methods }) {
  const streams = create('span', 'dim', '')
  streams.dataset.path = path
  const head = create('tr', '', ...['method', 'before', 'after', 'error'].map((name) => create('th', '', name)))
  return create('details', '',
    create('summary', '', create('b', '', '/' + path), create('span', 'dim', className + ' '), streams),
    create('table', '', head, ...methods.flatMap(createMethodRows)),
    create('p', 'dim', 'Events: ' + (events.join(', ') || 'none')))
}

function showStreams(streams) {
  for (const element of document.querySelectorAll('[data-path]')) {
    const count = streams[element.dataset.path] ?? 0
    element.textContent = count === 0 ? '' : '\\u00b7 ' + count + (count === 1 ? ' open stream' : ' open streams')
  }
}

let services = ''
async function showServices() {
  const all = await read('services.json')
  // What the developer has opened stays open unless something has changed.
  if (JSON.stringify(all) === services) return
  services = JSON.stringify(all)
  find('services').replaceChildren(...all.map(createService))
}

async function showCalls() {
  const { calls, streams } = await read('calls.json')
  const wanted = find('filter').value.toLowerCase()
  const shown = calls.filter(({ path, method, outcome, provider }) =>
    (find('internal').checked || provider !== undefined) &&
    (path + '.' + method + ' ' + outcome).toLowerCase().includes(wanted))
  find('calls').replaceChildren(...shown.map(createCallRow))
  find('none').hidden = shown.length > 0
  find('none').textContent = calls.length === 0 ? 'No call yet.' : 'No call matches.'
  showStreams(streams)
}

let isReading = false
async function refresh() {
  if (document.hidden || isReading) return
  isReading = true
  try {
    if (services === '' || find('state').textContent !== '') await showServices()
    await showCalls()
    showState('')
  } catch {
    showState('The server does not respond; it may be restarting.')
  } finally {
    isReading = false
  }
}

for (const id of ['filter', 'internal']) find(id).addEventListener('input', refresh)
document.addEventListener('visibilitychange', refresh)
setInterval(refresh, 1000)
refresh()
`

const toSource = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** The page runs only its own script, may not be framed, and reads only from this server. */
export const CONTENT_SECURITY_POLICY: string = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "form-action 'none'",
  'img-src data:',
  "frame-ancestors 'none'",
  `script-src ${toSource(SCRIPT)}`,
  `style-src ${toSource(STYLE)}`,
].join('; ')

/** Returns the page. @param base its data is below its own path and this one, `'/developer'` or `''` */
export function toHtml(base: string): string {
  return `<!doctype html>
<html lang="en" data-base="${base}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Services</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
<header><h1>Services</h1><span>for developers, only on this machine</span><span id="state" role="status"></span></header>
<main>
  <section><h2>Services and their hooks</h2><div id="services"></div></section>
  <section>
    <h2>Last calls</h2>
    <div class="filters">
      <input id="filter" type="search" placeholder="Filter: tasks.find" aria-label="Filter the calls">
      <label><input id="internal" type="checkbox" checked> Internal calls</label>
    </div>
    <table>
      <thead><tr><th>time<th>call<th>outcome<th class="number">ms<th class="number" title="database calls">db</tr></thead>
      <tbody id="calls"></tbody>
    </table>
    <p id="none" class="dim">No call yet.</p>
  </section>
</main>
<script>${SCRIPT}</script>
</html>
`
}
