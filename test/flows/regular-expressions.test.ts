import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { growthOf, LINEAR_GROWTH } from '../support/growth.ts'

/** Of the texts; the same texts 16 times as long are compared with them. */
const LENGTH = 3_000

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

/** Leaves out the commands, which read only the files of whoever runs them. */
function findRegexes(folder: URL): Found[] {
  const files = readdirSync(folder, { recursive: true }).map(String)
  return files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('cli/'))
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

function toWorstTexts(regex: RegExp, length: number): readonly string[] {
  const units = new Set([...USUAL_UNITS, ...toUnits(regex)])
  return [...units].flatMap((unit) => {
    const body = unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
    return ENDS.map((end) => body + end)
  })
}

/** Looks for every match, as `replace` and `split` do. */
function read(regex: RegExp, text: string): void {
  if (regex.global) text.replace(regex, '')
  else regex.test(text)
}

const found = findRegexes(new URL('../../../src/', import.meta.url))

t.test('no regular expression of ours repeats a repetition (FST-17)', async (t) => {
  t.ok(found.length > 10, `${found.length} regular expressions`)
  for (const { place, regex } of found) {
    t.notMatch(regex.source, /\([^)]*[+*]\)[+*]/, `${place} has a quantifier inside another one`)
  }
})

t.test('each one reads a text in steps that grow with its length alone (FST-17)', async (t) => {
  for (const { place, regex } of found) {
    if (SHORT_TEXTS.has(String(regex))) continue
    const prepare = (length: number) => {
      const texts = toWorstTexts(regex, length)
      return () => {
        for (const text of texts) read(regex, text)
      }
    }
    const growth = await growthOf(prepare, LENGTH)
    t.ok(
      growth < LINEAR_GROWTH,
      `${place} ${regex}: 16 times the text took ${growth} times as long`,
    )
  }
})

t.test('one that starts anew at each character is seen (FST-17)', async (t) => {
  const growth = await growthOf((length) => () => read(/ +$/, `${' '.repeat(length)}.`), 500)
  t.ok(growth > LINEAR_GROWTH, `16 times the text took ${growth} times as long`)
})
