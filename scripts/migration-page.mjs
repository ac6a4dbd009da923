// Reads the edits of docs/migrating-from-feathers.md, so that a script can do what the page says:
//
//   **`src/index.ts`**                     the file, in bold above a fenced block; behind it may stand
//                                          `with Koa` or `with Express`, and `, in every service`
//   ```diff                                `-` is replaced by `+`, beside lines that stay; what an empty
//                                          line separates is found and replaced one after the other
//   ```ts                                  a new file
//
// A block for every service is written for `messages`.
import { readFileSync } from 'node:fs'

const PAGE = new URL('../docs/migrating-from-feathers.md', import.meta.url)
const BLOCK = /^\*\*`([^`\n]+)`\*\*([^\n]*)\n\n```(diff|ts)\n([\s\S]*?)^```$/gm
const COUNTS = /(\d+) files?, (\d+) lines? added and (\d+) removed, of ([\d,]+)/g

/** Returns the page. */
export const readPage = () => readFileSync(PAGE, 'utf8').replaceAll('\r', '')

/**
 * Returns the edits in their order: each has a `path`, and `text` for a new file, else `from` and `to`.
 * @param framework `Koa` or `Express`: blocks of the other one are left out
 * @param rename turns the text of a block for `messages` into that of another service; one for each
 */
export function readEdits(page, framework, renames) {
  return [...page.matchAll(BLOCK)].flatMap(([, path, note, language, code]) => {
    const [, only] = / with (\w+)/.exec(note) ?? []
    if (only !== undefined && only !== framework) return []
    const forms = note.includes('in every service') ? renames : [(text) => text]
    return forms.flatMap((rename) => toEdits(rename(path), language, rename(code)))
  })
}

/** Returns the packages that the page removes, and those that it adds. */
export function readInstalled(page) {
  const read = (command) =>
    [...page.matchAll(new RegExp(`^npm ${command} (.*?[^\\\\])$`, 'gms'))].flatMap(([, names]) =>
      names.split(/[\s\\]+/),
    )
  return { removed: read('uninstall'), added: read('install') }
}

/** Returns the counts that the page states, by framework in the order of the page. */
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
