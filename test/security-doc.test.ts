import { existsSync } from 'node:fs'
import t from 'tap'
import { pluck } from './support/pluck.ts'

/** One row of `docs/reference/security-tests.md`. */
interface Row {
  readonly id: string
  /** What the row is about. */
  readonly what: string
  /** Test files below `test`, without `.test.ts`. */
  readonly tests: readonly string[]
  /** Why there is no test, or what is to be known beside it. */
  readonly note: string
}

interface SecurityRows {
  findTests(): Map<string, { readonly files: ReadonlySet<string> }>
  readRows(page?: string): Row[]
  readTitles(test: string): { readonly ids: readonly string[]; readonly text: string }[]
}

const root = new URL('../../', import.meta.url)
const script = new URL('scripts/security-rows.mjs', root).href
const { findTests, readRows, readTitles } = (await import(script)) as SecurityRows
const HINT = 'run: node scripts/security-rows.mjs --write'

const rows = readRows()
const tests = findTests()

t.test('every id of a test stands in docs/reference/security-tests.md, once', async (t) => {
  const documented = rows.map(({ id }) => id)
  t.strictSame(
    [...tests.keys()].filter((id) => !documented.includes(id)),
    [],
    HINT,
  )
  t.strictSame(
    documented.filter((id, index) => documented.indexOf(id) !== index),
    [],
  )
})

t.test('every row has a test or a reason', async (t) => {
  t.ok(rows.length > 150, `${rows.length} rows`)
  const bare = rows.filter(({ id, note }) => !tests.has(id) && note === '')
  t.strictSame(pluck(bare, 'id'), [])
})

t.test('every row names files that hold its id', async (t) => {
  for (const { id, tests: files } of rows) {
    const known = tests.get(id)?.files ?? new Set()
    t.strictSame(
      files.filter((file) => !known.has(file)),
      [],
      `${id}, ${HINT}`,
    )
    for (const file of files) t.ok(existsSync(new URL(`test/${file}.test.ts`, root)), file)
  }
})

t.test('reads ids at the end of a string, and no other names with numbers', async (t) => {
  const test = "t.test('bad UTF-8 in RFC-8 (INJ-1..3, RES-2)', …) // (HTTP-1) 'SHA-1'"
  t.strictSame(readTitles(test), [
    { ids: ['INJ-1', 'INJ-2', 'INJ-3', 'RES-2'], text: 'bad UTF-8 in RFC-8' },
  ])
  t.strictSame(readTitles(`t.test(\`takes \${name} | b (QS-1)\`, …)`), [
    { ids: ['QS-1'], text: 'takes … \\| b' },
  ])
  t.match(readRows('| QS-1 | a | `a/b`, `c` | why |'), [
    { id: 'QS-1', what: 'a', tests: ['a/b', 'c'], note: 'why' },
  ])
})
