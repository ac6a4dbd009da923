/** A place in a file that the user should look at. */
export interface Note {
  readonly index: number
  readonly text: string
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

interface Argument {
  readonly start: number
  readonly text: string
}

interface Call {
  readonly given: readonly Argument[]
  readonly close: number
}

/** Comments, strings and templates. Comments and templates are blanked: they contain no code to edit. */
const NO_CODE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|`(?:\\.|[^`\\])*`|(['"])(?:\\.|(?!\1)[^\\\n])*\1/g

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

/** A file with its pending edits, at places of the current text. */
export class SourceFile {
  readonly path: string
  readonly text: string
  /** The text with comments and templates replaced by blanks, so that places stay the same. */
  readonly code: string
  readonly notes: Note[] = []
  /** Names that edits use, with the modules that export them. */
  readonly needs: { readonly from: string; readonly name: string }[] = []
  readonly #edits: Edit[] = []
  /** The code with strings replaced by blanks: its brackets are all code. */
  readonly #bare: string
  readonly #lineEnd: string

  constructor(path: string, text: string) {
    this.path = path
    this.text = text
    this.code = text.replace(NO_CODE, (found, quote) =>
      quote === undefined ? blank(found) : found,
    )
    this.#bare = text.replace(NO_CODE, blank)
    this.#lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  }

  get editCount(): number {
    return this.#edits.length
  }

  /** The text after the edits. */
  get result(): string {
    return applyEdits(this.text, 0, this.#edits)
  }

  /** The code after the edits. */
  get editedCode(): string {
    return applyEdits(this.code, 0, this.#edits)
  }

  /** Replaces what is between two places. An edit inside another one is dropped. */
  replace(start: number, end: number, text: string): void {
    if (this.isReplaced(start, end)) return
    const edit = { start, end, text: text.replaceAll('\n', this.#lineEnd) }
    this.#edits.push(edit)
    this.#edits.sort((one, other) => one.start - other.start || one.end - other.end)
  }

  /** Whether an edit replaces the text between two places, or a part of it. */
  isReplaced(start: number, end: number): boolean {
    return this.#edits.some((other) => start < other.end && other.start < end)
  }

  /** Replaces what a pattern matches. `to` returns `undefined` to leave a match as it is. */
  replaceEach(pattern: RegExp, to: (match: RegExpExecArray) => string | undefined): void {
    for (const match of this.code.matchAll(pattern)) {
      const text = to(match)
      if (text !== undefined) this.replace(match.index, match.index + match[0].length, text)
    }
  }

  /** Removes a statement, with its lines if nothing else is on them. */
  removeLines(start: number, end: number): void {
    const first = this.text.slice(0, start).lastIndexOf('\n') + 1
    const next = this.text.indexOf('\n', end)
    const last = next < 0 ? this.text.length : next + 1
    const others = this.text.slice(first, start) + this.text.slice(end, last)
    if (/^[\s;]*$/.test(others)) this.replace(first, last, '')
    else this.replace(start, end, '')
  }

  note(index: number, text: string): void {
    this.notes.push({ index, text })
  }

  /** Returns the number of the line at a place, the first being 1. */
  lineAt(index: number): number {
    return this.text.slice(0, index).split('\n').length
  }

  /** Returns the arguments of the call whose bracket opens at a place, and the place where it closes. */
  readCall(open: number): Call {
    const given: Argument[] = []
    let [depth, start] = [0, open + 1]
    let close = open
    for (; close < this.#bare.length; close += 1) {
      const sign = this.#bare.charAt(close)
      if ('([{'.includes(sign)) depth += 1
      else if (')]}'.includes(sign)) depth -= 1
      if (depth > 1 || (depth === 1 && sign !== ',')) continue
      const before = this.code.slice(start, close)
      const text = before.trim()
      if (text !== '') given.push({ start: start + before.indexOf(text), text })
      start = close + 1
      if (depth === 0) break
    }
    return { given, close }
  }

  /** Returns the edits as lines before and after them. */
  describe(): string {
    const hunks: { start: number; end: number; edits: Edit[] }[] = []
    for (const edit of this.#edits) {
      const start = this.text.slice(0, edit.start).lastIndexOf('\n') + 1
      const next = this.text.indexOf('\n', Math.max(edit.start, edit.end - 1))
      const end = next < 0 ? this.text.length : next
      const last = hunks.at(-1)
      if (last !== undefined && start <= last.end + 1) {
        last.end = Math.max(last.end, end)
        last.edits.push(edit)
      } else hunks.push({ start, end, edits: [edit] })
    }
    return hunks
      .map(({ start, end, edits }) => {
        const before = this.text.slice(start, end)
        const after = applyEdits(before, start, edits)
        return `@@ line ${this.lineAt(start)}\n${toLines(before, '-')}${toLines(after, '+')}`
      })
      .join('')
  }
}

function applyEdits(text: string, offset: number, edits: readonly Edit[]): string {
  return edits.reduceRight(
    (result, edit) =>
      result.slice(0, edit.start - offset) + edit.text + result.slice(edit.end - offset),
    text,
  )
}

const toLines = (text: string, sign: string): string =>
  text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line) => `${sign}${line}\n`)
    .join('')
