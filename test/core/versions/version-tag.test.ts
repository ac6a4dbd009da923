import t from 'tap'
import {
  isKnownTag,
  isVersion,
  readExpectedVersion,
  toVersionTag,
} from '../../../src/core/versions/version-tag.ts'

const EXPECTED: readonly [header: string, ReturnType<typeof readExpectedVersion>][] = [
  ['"v-7"', [7]],
  ['"v-0"', [0]],
  ['"v-7", "v-8"', [7, 8]],
  ['"v-7","v-8" , "x,y"', [7, 8]],
  // A comma at the end, as a proxy that joins headers may leave.
  ['"v-7",', [7]],
  ['*', '*'],
  [' * ', '*'],
  // Made weak, or marked, by a proxy that compresses.
  ['W/"v-7"', [7]],
  ['"v-7-gzip"', [7]],
  ['"v-7;br"', [7]],
  ['"v-7--zstd"', [7]],
  // With a hash of the answer.
  ['"v-7-0123456789abcdef"', [7]],
  ['W/"v-7-0123456789abcdef-gzip"', [7]],
  // Tags of another kind stand for no version.
  ['"abc"', []],
  ['"v-"', []],
  ['"v--1"', []],
  ['"v-1.5"', []],
  ['"v-07"', []],
  ['"v-7-abc"', []],
  ['"v-9007199254740993"', []],
  ['""', []],
]

for (const [header, expected] of EXPECTED) {
  t.test(`If-Match: ${header}`, async (t) => {
    t.strictSame(readExpectedVersion(header), expected)
  })
}

for (const header of ['', ' ', 'v-7', '7', '"v-7', 'v-7"', '"v-7" "v-8"', 'w/"v-7"', '*, "v-7"']) {
  t.test(`If-Match: ${header} is refused`, async (t) => {
    t.throws(() => readExpectedVersion(header), { code: 400, message: /If-Match/ })
  })
}

t.test('a long header is read in one pass', async (t) => {
  const header = Array.from({ length: 10_000 }, (_, version) => toVersionTag(version)).join()
  t.equal((readExpectedVersion(header) as number[]).length, 10_000)
  t.throws(() => readExpectedVersion(`${' '.repeat(100_000)}x`), { code: 400 })
  // A pattern that tries each place again would need hours.
  const dashes = `"${'-'.repeat(2_000_000)}x"`
  t.strictSame(readExpectedVersion(dashes), [])
  t.notOk(isKnownTag(dashes, '"v-7"'))
})

const KNOWN: readonly [header: string | undefined, tag: string, boolean][] = [
  ['"v-7"', '"v-7"', true],
  ['W/"v-7"', '"v-7"', true],
  ['"v-7-gzip"', '"v-7"', true],
  ['"x", W/"abc"', 'W/"abc"', true],
  ['*', 'W/"abc"', true],
  ['"v-8"', '"v-7"', false],
  ['"v-7"', '"v-7-0123456789abcdef"', false],
  // Tags of applications that end as proxies end theirs.
  ['"pt-br"', '"pt-br"', true],
  ['"pt-br"', '"pt"', false],
  ['"V-7"', '"v-7"', false],
  ['v-7', '"v-7"', false],
  [undefined, '"v-7"', false],
]

for (const [header, tag, isKnown] of KNOWN) {
  t.test(`If-None-Match: ${header} ${isKnown ? 'names' : 'does not name'} ${tag}`, async (t) => {
    t.equal(isKnownTag(header, tag), isKnown)
  })
}

t.test('a version is a whole number from 0 on', async (t) => {
  for (const value of [0, 1, 2 ** 53 - 1]) t.ok(isVersion(value))
  for (const value of [-1, 1.5, Number.NaN, 2 ** 53, '1', null, undefined])
    t.notOk(isVersion(value))
})
