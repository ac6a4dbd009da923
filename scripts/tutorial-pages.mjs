// Reads the pages of docs/tutorial, so that a script can do what they say. What a fenced block is stands
// behind its backticks:
//
//   ```ts src/app.ts               the whole file, of any language
//   ```diff src/app.ts             an edit: `-` is replaced by `+`, beside lines that stay; what an empty
//                                  line separates are edits of different places
//   ```ts in src/app.ts            lines that are in the file
//   ```sh                          commands that end
//   ```sh start                    a server, which takes the place of the one before
//   ```sh follow                   commands of another terminal, which go on
//   ```sh docker                   commands that need Docker
//   ```json, ```text               what the commands before it print: one value, or lines in this order
//   ```text follow                 what those of the other terminal have printed by now
//
// In what is printed `…` stands for anything, and ids and dates are not compared.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const FOLDER = 'docs/tutorial'
const BLOCK = /^```(\w+)(?: ([^\n]*))?\n([\s\S]*?)^```$/gm
const MARKS = { sh: ['', 'start', 'follow', 'docker'], json: [''], text: ['', 'follow'] }

const ID = /[0-9a-f]{24}/g
const DATE = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

/**
 * Returns the pages in their order. Each has a name and blocks: a `kind`, the `text`, and the `place` of
 * the block for errors; files have a `path`.
 * @param ports ports to take in the place of those of the pages
 */
export function readPages(ports) {
  const names = readdirSync(FOLDER).filter((name) => /^\d.*\.md$/.test(name))
  return names.sort().map((name) => {
    let page = readFileSync(join(FOLDER, name), 'utf8').replaceAll('\r', '')
    for (const [port, other] of Object.entries(ports)) {
      page = page.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${other}`)
    }
    const blocks = [...page.matchAll(BLOCK)].map(
      ({ 1: language, 2: info = '', 3: text, index }) => {
        const place = `${name}:${page.slice(0, index).split('\n').length}`
        return { ...toKind(language, info, place), text, place }
      },
    )
    return { name: name.replace('.md', ''), blocks }
  })
}

function toKind(language, info, place) {
  if (MARKS[language]?.includes(info)) {
    return { kind: [language, info].filter((word) => word !== '').join(' ') }
  }
  const [, isPart, path] = /^(in )?(\S+)$/.exec(info) ?? []
  if (path === undefined) throw new Error(`${place}: a block of ${language} has no file`)
  return { kind: isPart ? 'part' : language === 'diff' ? 'diff' : 'file', path }
}

/** Does in a folder what a block with a file says. */
export function applyFile(folder, { kind, path, text, place }) {
  const file = join(folder, path)
  if (kind === 'file') {
    mkdirSync(dirname(file), { recursive: true })
    return writeFileSync(file, text)
  }
  if (!existsSync(file)) throw new Error(`${place}: there is no ${path}`)
  const before = readFileSync(file, 'utf8')
  if (kind === 'part') return findOnce(before, text, `${place}: ${path}`)
  // What is looked for ends with a line end, and begins with a line.
  const after = text.split('\n\n').reduce((source, part) => {
    const lines = part.split('\n').filter((line) => line !== '')
    const toSide = (sign) =>
      lines
        .filter((line) => line[0] === ' ' || line[0] === sign)
        .map((line) => `${line.slice(1)}\n`)
        .join('')
    const wrong = lines.find((line) => !' +-'.includes(line[0]))
    if (wrong !== undefined) throw new Error(`${place}: neither ' ' nor + nor - before ${wrong}`)
    const from = toSide('-')
    const start = findOnce(source, from, `${place}: ${path}`)
    return source.slice(0, start) + toSide('+') + source.slice(start + from.length)
  }, before)
  writeFileSync(file, after)
}

/** Returns where whole lines begin in a text. Throws unless they are there once. */
function findOnce(source, lines, place) {
  const start = `\n${source}`.indexOf(`\n${lines}`)
  if (lines === '' || start < 0) throw new Error(`${place} does not have these lines:\n${lines}`)
  if (`\n${source}`.indexOf(`\n${lines}`, start + 1) >= 0) {
    throw new Error(`${place} has these lines more than once:\n${lines}`)
  }
  return start
}

/** Throws unless commands have printed what a block says. */
export function compareOutput({ kind, text, place }, output) {
  if (kind !== 'json') {
    const pattern = text.trim().split('\n').map(toPattern).join('[\\s\\S]*?')
    assert.match(output.replaceAll('\r', ''), new RegExp(`^${pattern}$`, 'm'), place)
    return
  }
  let actual
  try {
    actual = JSON.parse(output)
  } catch {
    throw new Error(`${place}: the commands before it have printed no JSON:\n${output}`)
  }
  const expected = JSON.parse(text)
  assert.deepEqual(hideLike(expected, actual), toComparable(expected), place)
}

const toPattern = (line) =>
  line
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
    .replace(ID, '[0-9a-f]{24}')
    .replace(DATE, '[-\\d]{10}T[:.\\d]{12}Z')

/** Returns a value with the same word for all ids, and for all dates with milliseconds but midnights. */
function toComparable(value) {
  if (typeof value === 'string') {
    return value
      .replace(ID, 'an id')
      .replace(DATE, (date) => (/00:00:00\.000/.test(date) ? date : 'a date'))
  }
  return mapValues(value, toComparable)
}

/** Returns an actual value comparably, with what the expected one leaves out by `…` left out. */
function hideLike(expected, actual) {
  if (typeof expected === 'string' && expected.endsWith('…')) {
    const start = expected.slice(0, -1)
    const isLike = start === '' || (typeof actual === 'string' && actual.startsWith(start))
    return actual !== undefined && isLike ? toComparable(expected) : actual
  }
  if (typeof expected !== 'object') return toComparable(actual)
  return mapValues(actual, (value, key) => hideLike(expected?.[key], value))
}

function mapValues(value, convert) {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, convert(one, key)]))
}
