import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const LENGTH = 50_000
const LIMIT_MS = 50
const TRIES = 3

/** Comments, strings and templates are passed over; a regular expression stands where a value may. */
const TOKENS =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:^|[(,=:[!&|?{};+\-*%<>~^]|\breturn)\s*)(?<regex>\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/)(?<flags>[dgimsuvy]*)/gm

/** What tends to be expensive whatever the expression is. */
const USUAL_UNITS = [
  'a',
  ' ',
  '\n',
  '0',
  '%',
  '%5',
  '%24',
  '=',
  'a=',
  '&',
  '?a',
  '/',
  '//',
  '[',
  ']',
]
const ENDS = ['', '\u0000']

/** Expressions that only ever see a text of a few characters, whatever a client sends. */
const SHORT_TEXTS: ReadonlyMap<string, string> = new Map([
  ['/=+$/', 'the end of the base64 text of a key of fixed length'],
])

interface Found {
  readonly place: string
  readonly regex: RegExp
}

function findRegexes(folder: URL): Found[] {
  const files = readdirSync(folder, { recursive: true }).map(String)
  return files
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .flatMap((file) => {
      const source = readFileSync(new URL(file, folder), 'utf8')
      return [...source.matchAll(TOKENS)].flatMap(({ groups, index }) => {
        const { regex, flags } = groups ?? {}
        if (regex === undefined) return []
        const line = source.slice(0, index).split('\n').length
        return [{ place: `${file}:${line}`, regex: new RegExp(regex.slice(1, -1), flags) }]
      })
    })
}

/** Characters that an expression speaks of, alone and in pairs: what makes it go on and on. */
function toUnits({ source }: RegExp): readonly string[] {
  const plain = source
    .replace(/\\u([0-9a-f]{4})/gi, (_all, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
    .replace(/\\s/g, ' ')
    .replace(/\\[dw]/g, '0')
    .replace(/[\\^()?*+|{}]/g, '')
  const characters = [...new Set([...plain, 'a'])]
  const pairs = characters.slice(0, 10).flatMap((one, index) => {
    return characters.slice(index + 1, 10).map((other) => one + other)
  })
  return [...characters.slice(0, 20), ...pairs]
}

function toWorstTexts(regex: RegExp): readonly string[] {
  const units = new Set([...USUAL_UNITS, ...toUnits(regex)])
  return [...units].flatMap((unit) => {
    const body = unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH)
    return ENDS.map((end) => body + end)
  })
}

/** Resolves to the least time of a few tries: another process may have had the processor. */
function measure(regex: RegExp, text: string): number {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES && least >= LIMIT_MS; attempt += 1) {
    const start = performance.now()
    // Every match, as `replace` and `split` look for them.
    if (regex.global) text.replace(regex, '')
    else regex.test(text)
    least = Math.min(least, performance.now() - start)
  }
  return least
}

const found = findRegexes(new URL('../../../src/', import.meta.url))

t.test('FST-17: no regular expression of ours repeats a repetition', async (t) => {
  t.ok(found.length > 10, `${found.length} regular expressions`)
  for (const { place, regex } of found) {
    t.notMatch(regex.source, /\([^)]*[+*]\)[+*]/, `${place} has a quantifier inside another one`)
  }
})

t.test(`FST-17: each one reads ${LENGTH} characters in ${LIMIT_MS} ms`, async (t) => {
  t.setTimeout(120_000)
  for (const { place, regex } of found) {
    if (SHORT_TEXTS.has(String(regex))) continue
    let slowest = 0
    let worst = ''
    for (const text of toWorstTexts(regex)) {
      const time = measure(regex, text)
      if (time > slowest) [slowest, worst] = [time, text.slice(0, 4)]
    }
    const unit = JSON.stringify(worst)
    t.ok(slowest < LIMIT_MS, `${place} ${regex} took ${slowest.toFixed(1)} ms for ${unit}…`)
  }
})
