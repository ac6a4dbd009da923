import { CommandError, notSupported } from '../errors/command-error.ts'
import { isDocument } from '../values/bson-type.ts'
import { typeNameOf } from '../values/type-names.ts'
import type { WordFolding } from './text-words.ts'
import { foldText, INDEXED, toWords } from './text-words.ts'

/** One string of a document that is in a text index. */
export interface IndexedText {
  readonly text: string
  readonly weight: number
}

/** What a `$text` asks of the indexed strings of a document. */
export interface TextQuery {
  readonly matches: (texts: readonly IndexedText[]) => boolean
  /** Returns how well they match, for `$meta: 'textScore'`. */
  readonly score: (texts: readonly IndexedText[]) => number
}

/** A search, divided: words are joined by "or", all else by "and". */
interface ParsedSearch {
  readonly words: string
  readonly negatedWords: string
  readonly phrases: readonly string[]
  readonly negatedPhrases: readonly string[]
}

const FIELDS: ReadonlySet<string> = new Set([
  '$search',
  '$language',
  '$caseSensitive',
  '$diacriticSensitive',
])

/** A blank, a sign, or what stands between them; a tab is part of a text. */
const TOKEN = /[ \n\v\f\r]+|[-"]|[^ \n\v\f\r"-]+/g

/**
 * Returns the operand of `$text` as a query.
 * @throws {CommandError} a field is missing, unknown or of another type, or the language has one
 */
export function readTextQuery(operand: unknown): TextQuery {
  if (!isDocument(operand)) throw new CommandError(2, '$text expects an object')
  const unknown = Object.keys(operand).find((name) => !FIELDS.has(name))
  if (unknown !== undefined) throw new CommandError(2, `extra fields in $text: ${unknown}`)
  const { $search: search, $language: language } = operand
  if (search === undefined) throw new CommandError(4, 'Missing expected field "$search"')
  checkType('$search', search, 'string')
  if (search.includes('\0')) throw notSupported('A zero byte in $search')
  if (language !== undefined) {
    checkType('$language', language, 'string')
    if (language !== 'none') throw notSupported(`The language '${language}' of $text`)
  }
  const folding: WordFolding = {
    keepsCase: readSwitch('$caseSensitive', operand.$caseSensitive),
    keepsDiacritics: readSwitch('$diacriticSensitive', operand.$diacriticSensitive),
  }
  return createQuery(parseSearch(search), folding)
}

function createQuery(search: ParsedSearch, folding: WordFolding): TextQuery {
  // The index knows folded words alone: a word that keeps its case is looked for in what it finds.
  const terms = new Set(toWords(search.words, INDEXED))
  const words = new Set(toWords(search.words, folding))
  const negatedWords = new Set(toWords(search.negatedWords, folding))
  const has = (text: string, wanted: ReadonlySet<string>, how: WordFolding): boolean =>
    wanted.size > 0 && toWords(text, how).some((word) => wanted.has(word))
  const [phrases, negatedPhrases] = [search.phrases, search.negatedPhrases].map((list) =>
    list.map((phrase) => foldText(phrase, folding)),
  )
  return {
    matches: (indexed) => {
      const texts = indexed.map(({ text }) => text)
      if (!texts.some((text) => has(text, terms, INDEXED))) return false
      if (!texts.some((text) => has(text, words, folding))) return false
      if (texts.some((text) => has(text, negatedWords, folding))) return false
      const folded = texts.map((text) => foldText(text, folding))
      const holds = (phrase: string): boolean => folded.some((text) => text.includes(phrase))
      return phrases?.every(holds) === true && negatedPhrases?.some(holds) === false
    },
    score: (indexed) => indexed.reduce((sum, text) => sum + scoreText(text, terms), 0),
  }
}

/** Words that fill a text count more than those in a long one, and the second of a kind half as much. */
function scoreText({ text, weight }: IndexedText, terms: ReadonlySet<string>): number {
  const counts = new Map<string, number>()
  const words = toWords(text, INDEXED)
  for (const word of words) {
    if (terms.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  let score = 0
  for (const [word, count] of counts) {
    const frequency = 2 - 2 ** (1 - count)
    const share = (0.5 * count) / words.length + 0.5
    const isWhole = toAsciiLower(text) === toAsciiLower(word)
    score += weight * frequency * share * (isWhole ? 1.1 : 1)
  }
  return score
}

function toAsciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * A `-` behind a blank negates all up to the next blank, a phrase as a whole. The words of a phrase
 * are searched for as well, unless it is negated.
 */
function parseSearch(search: string): ParsedSearch {
  const words = { kept: '', negated: '' }
  const phrases = { kept: [] as string[], negated: [] as string[] }
  let kind: 'kept' | 'negated' = 'kept'
  let phraseStart: number | undefined
  let isBehindBlank = true
  for (const { 0: token, index } of search.matchAll(TOKEN)) {
    if (/^[ \n\v\f\r]/.test(token)) {
      isBehindBlank = true
      continue
    }
    if (token === '-') {
      if (phraseStart === undefined && isBehindBlank) kind = 'negated'
    } else if (token !== '"') {
      if (phraseStart === undefined || kind === 'kept') {
        if (isBehindBlank) kind = 'kept'
        words[kind] += `${token} `
      }
    } else if (phraseStart === undefined) {
      if (isBehindBlank) kind = 'kept'
      phraseStart = index + 1
    } else {
      phrases[kind].push(search.slice(phraseStart, index))
      phraseStart = undefined
    }
    isBehindBlank = false
  }
  return {
    words: words.kept,
    negatedWords: words.negated,
    phrases: phrases.kept,
    negatedPhrases: phrases.negated,
  }
}

function readSwitch(name: string, value: unknown): boolean {
  if (value === undefined) return false
  checkType(name, value, 'bool')
  return value === true
}

function checkType(name: string, value: unknown, type: string): void {
  const given = typeNameOf(value)
  if (given === type) return
  throw new CommandError(14, `"${name}" had the wrong type. Expected ${type}, found ${given}`)
}
