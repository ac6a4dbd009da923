import { createHash } from 'node:crypto'

const LINKS = [
  ['/countries', 'the first ten of 250'],
  ['/countries/FRA', 'one country by its id'],
  [
    '/countries?region=Europe&$sort[area]=-1&$limit=3&$select[]=name',
    'the largest three of Europe',
  ],
  ['/countries?area[$gt]=5000000&$sort[name]=1&$select[]=area', 'larger than five million km²'],
  ['/countries?languages=French&$limit=0', 'how many speak French'],
  ['/countries?name[$where]=1', 'an operator that is not allowed'],
  ['/countries/XXX', 'a country that does not exist'],
] as const

const STYLE = `
:root { color-scheme: light dark; font: 1.125rem/1.6 system-ui, sans-serif }
body { max-width: 46rem; margin: 3rem auto; padding: 0 1.5rem; overflow-wrap: anywhere }
h1 { line-height: 1.2 }
ul { list-style: none; padding: 0 }
li { margin: 0 0 1rem }
pre { font-size: .875rem; white-space: pre-wrap; border-top: 1px solid GrayText; padding-top: 1.5rem }
`

/** The query that the list on the page follows. */
const LIVE_QUERY =
  '/countries?subregion=Western Europe&$sort[name]=1&$select[]=name&$select[]=capital'

const JSON_DATA = "-H 'content-type: application/json'"

const SCRIPT = `
const list = document.querySelector('#live')
const countries = new Map()
const source = new EventSource(list.dataset.source)
const take = (names, change) => names.forEach((name) => source.addEventListener(name, (event) => {
  change(JSON.parse(event.data))
  const rows = [...countries.values()].sort((one, other) => one.name < other.name ? -1 : 1)
  list.replaceChildren(...rows.map(({ _id, name, capital }) => {
    const row = document.createElement('li')
    row.id = _id
    row.textContent = name + ': ' + capital.join(', ')
    return row
  }))
}))
const keep = (country) => countries.set(country._id, country)
take(['snapshot'], ({ data }) => (countries.clear(), data.forEach(keep)))
take(['created', 'updated', 'patched'], keep)
take(['removed', 'left'], ({ _id }) => countries.delete(_id))
`

/** The policy of pages in which nothing can run or load. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
}

/** The policy of the page at `/`: its script may run, and call this server. */
export const INDEX_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': `${PAGE_HEADERS['content-security-policy']}; connect-src 'self'; \
script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
}

/** Returns the page at `/`, with links to try and a list that stays current. */
export function renderIndexPage(url: string): string {
  const items = LINKS.map(([href, text]) => {
    const link = escapeHtml(href)
    return `<li><a href="${link}">${link}</a><br>${text}</li>`
  })
  return renderPage(
    'Countries',
    `<p>One service, <code>/countries</code>, with <code>find get create update patch remove</code>.
Programs get JSON, browsers pages like these:</p>
<ul>
${items.join('\n')}
</ul>
<h2>Live</h2>
<p>Western Europe and its capitals, as an <code>EventSource</code> tells them. The list changes with</p>
<pre>${escapeHtml(`curl -X PATCH '${url}/countries/FRA' ${JSON_DATA} -d '{"capital":["Lyon"]}'`)}</pre>
<ul id="live" data-source="${escapeHtml(LIVE_QUERY)}"></ul>
<script>${SCRIPT}</script>`,
  )
}

/** Returns a page that shows the response of a service. */
export function renderAnswerPage(url: string, answer: unknown): string {
  const json = escapeHtml(JSON.stringify(answer, null, 2))
  return renderPage(url, `<p><a href="/">Back to the start</a></p>\n<pre>${json}</pre>`)
}

function renderPage(title: string, content: string): string {
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

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
