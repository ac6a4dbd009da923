// The tables of docs/security-tests.md list attacks and faults, a row for each, with an id
// such as `INJ-4`. The title of a test that tries one ends with its id: '… (INJ-4)',
// '… (RES-16, FST-5)', '… (INJ-1..12)'.
//
// `node scripts/security-rows.mjs INJ-4` prints the files whose titles have the id, and
// `node scripts/security-rows.mjs --write` adds a row to the last table for each id that is not on the page yet.
//
// A new row begins with the title of the test; `case` and `note` are edited by hand. `test/security-doc.test.ts` fails
// if the page lacks an id of a test, or if a row has neither a test nor a note.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PAGE = new URL('../docs/security-tests.md', import.meta.url)
const TESTS = new URL('../test/', import.meta.url)
/** The test of this script: the ids in it are examples. */
const OWN_TEST = 'security-doc.test.ts'
/** A row has no pipes at its ends, and no cell for an empty note. A pipe in a cell is `\|`. */
const ROW = /^([A-Z]+\d?-\d+) \| (.*?)(?: \| (.*))?$/
const IDS = String.raw`(?:[A-Z]+\d?-\d+(?:\.\.\d+)?(?:, )?)+`
const TEXT = String.raw`(?:\\.|(?!\1)[^\\\n])*`
/** A string of a test that ends with ids, or begins with them: the quote, and the ids and the text. */
const TITLE = new RegExp(
  `(['"\`])(?:(?<first>${IDS}): (?<behind>${TEXT})|(?<before>${TEXT}) \\((?<last>${IDS})\\))\\1`,
  'g',
)

/** Returns the rows of a page: id, what is tried, and the note. */
export function readRows(page = readFileSync(PAGE, 'utf8')) {
  return page.split('\n').flatMap((line) => {
    const [, id, what, note = ''] = ROW.exec(line) ?? []
    return id === undefined ? [] : [{ id, what, note }]
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

/** Returns the page with a row at its end for each id that it lacks. */
function addRows(page, tests) {
  const known = new Set(readRows(page).map(({ id }) => id))
  const others = [...tests.keys()]
    .filter((id) => !known.has(id))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .map((id) => `${id} | ${tests.get(id).title}\n`)
  return page + others.join('')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tests = findTests()
  const [id] = process.argv.slice(2)
  if (id === '--write') writeFileSync(PAGE, addRows(readFileSync(PAGE, 'utf8'), tests))
  else for (const file of tests.get(id)?.files ?? []) console.log(`test/${file}.test.ts`)
}
