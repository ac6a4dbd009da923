// Compares the rows of docs/security.md with the tests: prints for each id the test files that hold
// it, and at the end the rows that have neither a test nor a reason. With `--write` it fills in the
// column `tests`, and lists ids that only the tests know in the last table.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const DOCUMENT = new URL('docs/security.md', root)
const ID = /\b([A-Z][A-Z0-9]{1,6})-(\d{1,2})(?:\.\.(\d{1,2}))?\b/g
/** Names with a number that are no rows. */
const OTHER_NAMES = new Set([
  'UTF',
  'ISO',
  'SHA',
  'RFC',
  'HS',
  'RS',
  'ES',
  'INV',
  'E',
  'AES',
  'RSA',
  'MD',
])
/** The note of a row whose test is still to be written; it goes as soon as there is one. */
const PENDING = 'no test yet'
/** What is a comment, and strings, in which nothing is one. */
const OPAQUE =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g
const ROW = /^\| ([A-Z]+\d?-\d+) \| (.*?) \|(.*?)\|(.*?)\|$/

/** Returns the ids in a text; `INJ-1..12` is twelve of them. */
export function findIds(text) {
  return [...text.matchAll(ID)].flatMap(([, prefix, from, to = from]) => {
    if (OTHER_NAMES.has(prefix)) return []
    const count = Number(to) - Number(from) + 1
    return Array.from(
      { length: Math.max(count, 0) },
      (_, index) => `${prefix}-${Number(from) + index}`,
    )
  })
}

/** Returns the files below `test` by the ids in their strings, with the title of the first. */
export function findTests() {
  const folder = new URL('test/', root)
  const found = new Map()
  for (const file of readdirSync(folder, { recursive: true }).map(String).sort()) {
    if (!file.endsWith('.test.ts') || file === 'security-doc.test.ts') continue
    const strings = readFileSync(new URL(file, folder), 'utf8').match(OPAQUE) ?? []
    for (const text of strings.filter((string) => !string.startsWith('/'))) {
      for (const id of findIds(text)) {
        const entry = found.get(id) ?? { files: new Set(), title: '' }
        if (entry.title === '') entry.title = toTitle(text)
        entry.files.add(file.slice(0, -'.test.ts'.length))
        found.set(id, entry)
      }
    }
  }
  return found
}

/** Returns the rows of the document: id, what is tried, test files, and the reason. */
export function readRows(text = readFileSync(DOCUMENT, 'utf8')) {
  return text.split('\n').flatMap((line) => {
    const [, id, what, tests, note] = ROW.exec(line) ?? []
    if (id === undefined) return []
    return [{ id, what, tests: tests.match(/[\w./-]+/g) ?? [], note: note.trim() }]
  })
}

/** Returns what a test is about, without its id and what is put in. */
function toTitle(text) {
  const [, title = ''] = /^.[^:]*: (.*).$/s.exec(text) ?? []
  return title
    .replace(/\$\{[^}]*\}/g, '…')
    .replaceAll('|', '\\|')
    .trim()
}

function toLine({ id, what, note }, tests) {
  const files = [...(tests.get(id)?.files ?? [])].map((file) => `\`${file}\``)
  const kept = files.length > 0 && note === PENDING ? '' : note
  return `| ${id} | ${what} | ${files.join(', ')} | ${kept} |`.replace(/ {2,}/g, ' ')
}

function write(tests) {
  const text = readFileSync(DOCUMENT, 'utf8')
  const [tables, others] = text.split('### Tests of other parts\n')
  const known = new Set(readRows(tables).map(({ id }) => id))
  const unknown = [...tests.keys()].filter((id) => !known.has(id)).sort(compareIds)
  const lines = tables.split('\n').map((line) => {
    const [row] = readRows(line)
    return row === undefined ? line : toLine(row, tests)
  })
  const head = others.slice(0, others.indexOf('|---|---|---|---|\n') + '|---|---|---|---|\n'.length)
  const rest = unknown.map((id) => toLine({ id, what: tests.get(id).title, note: '' }, tests))
  const end = rest.length === 0 ? '' : `${rest.join('\n')}\n`
  writeFileSync(DOCUMENT, `${lines.join('\n')}### Tests of other parts\n${head}${end}`)
}

function compareIds(one, other) {
  return one.localeCompare(other, 'en', { numeric: true })
}

function main() {
  const tests = findTests()
  if (process.argv.includes('--write')) write(tests)
  const rows = readRows()
  for (const { id, note } of rows) {
    const files = [...(tests.get(id)?.files ?? [])].join(', ')
    console.log(`${id.padEnd(9)} ${files || `- ${note}`}`)
  }
  const missing = rows.filter(({ id, note }) => !tests.has(id) && ['', PENDING].includes(note))
  console.log(
    `\n${rows.length} rows, without test or reason: ${missing.map(({ id }) => id).join(' ')}`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
