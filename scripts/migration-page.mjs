// Reads the edits of docs/guides/migrating-from-feathers.md, so that a script can do what the page says:
//
//   **`src/index.ts`**                     the file, in bold above a fenced block; behind it may stand
//                                          `with Koa` or `with Express`, `for TypeBox`, `for JSON Schema`
//                                          or `for both kinds of schemas`, and `, in every service`
//   ```diff                                `-` is replaced by `+`, beside lines that stay; what an empty
//                                          line separates is found and replaced one after the other
//   ```ts                                  a new file
//
// A block for every service is written for `messages`.
import { readFileSync } from 'node:fs'

const PAGE = new URL('../docs/guides/migrating-from-feathers.md', import.meta.url)
const BLOCK = /^\*\*`([^`\n]+)`\*\*([^\n]*)\n\n```(diff|ts)\n([\s\S]*?)^```$/gm
const COUNTS = /(\d+) files?, (\d+) lines? added and (\d+) removed, of ([\d,]+)/g

/** Returns the page. */
export const readPage = () => readFileSync(PAGE, 'utf8').replaceAll('\r', '')

/**
 * Returns the edits in their order: each has a `path`, and `text` for a new file, else `from` and `to`.
 * @param notes what may stand behind a file beside that it is of every service: other blocks are left out
 * @param rename turns the text of a block for `messages` into that of another service; one for each
 */
export function readEdits(page, notes, renames) {
  return [...page.matchAll(BLOCK)].flatMap(([, path, note, language, code]) => {
    const [, only] = /^ ((?:with|for) [^,]+)/.exec(note) ?? []
    if (only !== undefined && !notes.includes(only)) return []
    const forms = note.includes('in every service') ? renames : [(text) => text]
    return forms.flatMap((rename) => toEdits(rename(path), language, rename(code)))
  })
}

/** Returns the packages that the page removes and adds, and those that it removes with its last step. */
export function readInstalled(page) {
  const read = (command) =>
    [...page.matchAll(new RegExp(`^npm ${command} (.*?[^\\\\])$`, 'gms'))].map(([, names]) =>
      names.split(/[\s\\]+/),
    )
  const [removed, ofSchemas] = read('uninstall')
  return { removed, ofSchemas, added: read('install').flat() }
}

/** Returns the counts that the page states, in its order. */
export function readCounts(page) {
  return [...page.matchAll(COUNTS)].map((match) =>
    match.slice(1).map((digits) => Number(digits.replace(',', ''))),
  )
}

function toEdits(path, language, code) {
  if (language === 'ts') return [{ path, text: code }]
  return code.split('\n\n').map((part) => {
    const lines = part.split('\n').filter((line) => line !== '')
    const side = (sign) =>
      lines.filter((line) => line[0] === ' ' || line[0] === sign).map((line) => line.slice(1))
    return { path, from: side('-').join('\n'), to: side('+').join('\n') }
  })
}
