import t from 'tap'
import { pluck } from './support/pluck.ts'

/** One row of `docs/security-tests.md`. */
interface Row {
  readonly id: string
  /** What the row is about. */
  readonly what: string
  /** Why there is no test, or a remark. */
  readonly note: string
}

interface SecurityRows {
  findTests(): Map<string, { readonly files: ReadonlySet<string> }>
  readRows(page?: string): Row[]
  readTitles(test: string): { readonly ids: readonly string[]; readonly text: string }[]
}

const script = new URL('../../scripts/security-rows.mjs', import.meta.url).href
const { findTests, readRows, readTitles } = (await import(script)) as SecurityRows
const HINT = 'run: node scripts/security-rows.mjs --write'

const rows = readRows()
const tests = findTests()

t.test('every id of a test stands in docs/security-tests.md, once', async (t) => {
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

t.test('reads ids at the end of a string, and no other names with numbers', async (t) => {
  const test = "t.test('bad UTF-8 in RFC-8 (INJ-1..3, RES-2)', …) // (HTTP-1) 'SHA-1'"
  t.strictSame(readTitles(test), [
    { ids: ['INJ-1', 'INJ-2', 'INJ-3', 'RES-2'], text: 'bad UTF-8 in RFC-8' },
  ])
  t.strictSame(readTitles(`t.test(\`takes \${name} | b (QS-1)\`, …)`), [
    { ids: ['QS-1'], text: 'takes … \\| b' },
  ])
  t.strictSame(readRows('QS-1 | a \\| b | why\nQS-2 | c'), [
    { id: 'QS-1', what: 'a \\| b', note: 'why' },
    { id: 'QS-2', what: 'c', note: '' },
  ])
})
