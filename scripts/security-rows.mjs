// The tables of docs/reference/security-tests.md list attacks and faults, a row for each, with an id
// such as `INJ-4`. The title of a test that tries one ends with its id: '… (INJ-4)',
// '… (RES-16, FST-5)', '… (INJ-1..12)'.
//
// `node scripts/security-rows.mjs --write` writes the files into the column `tests`, and adds a row to the last
// table for each id that is not on the page yet.
//
// The columns `id`, `case` and `note` are written by hand; a new row begins with the title of the
// test. `test/security-doc.test.ts` fails if the page and the tests differ, or if a row has neither a test
// nor a note.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PAGE = new URL('../docs/reference/security-tests.md', import.meta.url)
const TESTS = new URL('../test/', import.meta.url)
/** The test of this script: the ids in it are examples. */
const OWN_TEST = 'security-doc.test.ts'
/** A row has no pipes at its ends, and no cell for an empty note. */
const ROW = /^(?:\| )?([A-Z]+\d?-\d+) \| (.*?) \|(.*?)(?:\|(.*?))?(?:\|)?$/
const IDS = String.raw`(?:[A-Z]+\d?-\d+(?:\.\.\d+)?(?:, )?)+`
const TEXT = String.raw`(?:\\.|(?!\1)[^\\\n])*`
/** A string of a test that ends with ids, or begins with them: the quote, and the ids and the text. */
const TITLE = new RegExp(
  `(['"\`])(?:(?<first>${IDS}): (?<behind>${TEXT})|(?<before>${TEXT}) \\((?<last>${IDS})\\))\\1`,
  'g',
)

/** Returns the rows of a page: id, what is tried, test files, and the note. */
export function readRows(page = readFileSync(PAGE, 'utf8')) {
  return page.split('\n').flatMap((line) => {
    const [, id, what, tests, note = ''] = ROW.exec(line) ?? []
    if (id === undefined) return []
    return [{ id, what, tests: tests.match(/[\w./-]+/g) ?? [], note: note.trim() }]
  })
}

/** Returns the titles in a test that have ids: the ids of each, and its text without them. */
export function readTitles(test) {
  return [...test.matchAll(TITLE)].map(({ groups: { first, behind, before, last } }) => ({
    ids: (last ?? first).split(', ').flatMap(toIds),
    text: (before ?? behind).replace(/\$\{[^}]*\}/g, '…').replaceAll('|', '\\|'),
  }))
}

/** Returns `['INJ-1', 'INJ-2', 'INJ-3']` for `INJ-1..3`, and a single id as it is. */
function toIds(range) {
  const [, family, first, last = first] = /^(.*)-(\d+)(?:\.\.(\d+))?$/.exec(range)
  const count = Number(last) - Number(first) + 1
  return Array.from({ length: count }, (_, index) => `${family}-${Number(first) + index}`)
}

/** Returns the test files by the ids in their titles, with the text of the first of these titles. */
export function findTests() {
  const found = new Map()
  for (const file of readdirSync(TESTS, { recursive: true }).map(String).sort()) {
    if (!file.endsWith('.test.ts') || file === OWN_TEST) continue
    for (const { ids, text } of readTitles(readFileSync(new URL(file, TESTS), 'utf8'))) {
      for (const id of ids) {
        if (!found.has(id)) found.set(id, { title: text, files: new Set() })
        found.get(id).files.add(file.slice(0, -'.test.ts'.length).replaceAll('\\', '/'))
      }
    }
  }
  return found
}

/** Returns the page with the test files that were found, and a row at its end for each new id. */
function fillIn(page, tests) {
  const toLine = ({ id, what, note }) => {
    const files = [...(tests.get(id)?.files ?? [])].map((file) => `\`${file}\``)
    const cells = [id, what, files.join(', '), ...(note === '' ? [] : [note])]
    return cells.join(' | ').replace(/ {2,}/g, ' ')
  }
  const filled = page.split('\n').map((line) => {
    const [row] = readRows(line)
    return row === undefined ? line : toLine(row)
  })
  const known = new Set(readRows(page).map(({ id }) => id))
  const others = [...tests.keys()]
    .filter((id) => !known.has(id))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .map((id) => `${toLine({ id, what: tests.get(id).title, note: '' })}\n`)
  return filled.join('\n') + others.join('')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, fillIn(readFileSync(PAGE, 'utf8'), findTests()))
}
