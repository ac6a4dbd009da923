import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { readFields, refuse } from '../protocol/read-fields.ts'

/** One string of a document that is in a text index. */
export interface IndexedText {
  readonly text: string
  readonly weight: number
}

/** How a `$text` tests the indexed strings of a document. */
export interface TextQuery {
  readonly matches: (texts: readonly IndexedText[]) => boolean
  /** Returns how well they match, for `$meta: 'textScore'`. */
  readonly score: (texts: readonly IndexedText[]) => number
}

/** A parsed search: words are joined by "or", everything else by "and". */
interface ParsedSearch {
  readonly words: string
  readonly negatedWords: string
  readonly phrases: readonly string[]
  readonly negatedPhrases: readonly string[]
}

const FIELDS = {
  $search: 'string',
  $language: 'string',
  ...refuse('$caseSensitive', '$diacriticSensitive'),
} as const

/** A blank, a sign, or the text between them; a tab is part of the text. */
const TOKEN = /[ \n\v\f\r]+|[-"]|[^ \n\v\f\r"-]+/g

/**
 * Returns the operand of `$text` as a query.
 * @throws {CommandError} a field is missing, unknown, unsupported or of another type, or a language is set
 */
export function readTextQuery(operand: unknown): TextQuery {
  if (!isDocument(operand)) throw new CommandError(2, '$text expects an object')
  const given = readFields('$text', operand, FIELDS, { unknown: 2, refused: 2 })
  const { $search: search, $language: language = 'none' } = given
  if (search === undefined) throw new CommandError(4, 'Missing expected field "$search"')
  if (search.includes('\0')) throw notSupported('A zero byte in $search')
  if (language !== 'none') throw notSupported(`The language '${language}' of $text`)
  return createQuery(parseSearch(search))
}

function createQuery(search: ParsedSearch): TextQuery {
  const words = new Set(toWords(search.words))
  const negatedWords = new Set(toWords(search.negatedWords))
  const phrases = search.phrases.map(foldText)
  const negatedPhrases = search.negatedPhrases.map(foldText)
  return {
    matches: (indexed) => {
      const found = new Set(indexed.flatMap(({ text }) => toWords(text)))
      const has = (word: string): boolean => found.has(word)
      if (![...words].some(has) || [...negatedWords].some(has)) return false
      const texts = indexed.map(({ text }) => foldText(text))
      const holds = (phrase: string): boolean => texts.some((text) => text.includes(phrase))
      return phrases.every(holds) && !negatedPhrases.some(holds)
    },
    score: (indexed) => indexed.reduce((sum, text) => sum + scoreText(text, words), 0),
  }
}

/** Words of a short text count more than those of a long one, and a repeated word counts half as much. */
function scoreText({ text, weight }: IndexedText, terms: ReadonlySet<string>): number {
  const counts = new Map<string, number>()
  const words = toWords(text)
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
 * A `-` after a blank negates everything up to the next blank, a phrase as a whole. The words of a phrase are
 * also searched, unless it is negated.
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

/**
 * A word: the text between the delimiters of version 3 text indexes. The last three characters are in
 * Unicode's property `Hyphen`, but not in JavaScript's `Dash`.
 * @see https://www.mongodb.com/docs/v7.0/core/indexes/index-types/index-text/text-index-versions/
 */
const WORD =
  /[^\p{White_Space}\p{Dash}\p{Quotation_Mark}\p{Terminal_Punctuation}\p{Pattern_Syntax}\u00AD\u30FB\uFF65]+/gu

const ABOVE_ASCII = /[\u0080-\uFFFF]/
const DIACRITICS = /\p{Diacritic}/gu

/** Returns the words of a text in their order, folded. */
export function toWords(text: string): string[] {
  return Array.from(text.matchAll(WORD), ([word]) => foldText(word))
}

/** Returns a text in the form that is compared: without case and diacritics. */
export function foldText(text: string): string {
  if (!ABOVE_ASCII.test(text)) return text.toLowerCase().replace(DIACRITICS, '')
  return Array.from(text, (character) => removeDiacritics(foldCase(character))).join('')
}

/**
 * Folds one character to one character, as MongoDB does: `ß` stays, and so do the two letters that
 * only Turkish has.
 */
function foldCase(character: string): string {
  if (character === 'ı') return character
  const upper = character.toUpperCase()
  const lower = (isOne(upper) ? upper : character).toLowerCase()
  return isOne(lower) ? lower : character
}

/** A character that would become several stays as it is. */
function removeDiacritics(character: string): string {
  if (character.replace(DIACRITICS, '') === '') return ''
  const bare = character.normalize('NFD').replace(DIACRITICS, '').normalize('NFC')
  return isOne(bare) ? bare : character
}

function isOne(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff)
}

/**
 * Returns how well a document matches the `$text` of the filter: `null` if the filter has none, `undefined`
 * if there are no scores at all.
 */
export type TextScore = ((document: Document) => number) | null | undefined

/**
 * Returns the value of `{ $meta: 'textScore' }`.
 * @throws {CommandError} 40218 the filter has no `$text`; 2 it asks for something else
 */
export function readTextScore(
  operator: Document,
  textScore: TextScore,
): (document: Document) => number {
  const isAlone = Object.keys(operator).length === 1
  if (operator.$meta !== 'textScore' || !isAlone || textScore === undefined) {
    throw notSupported(`$meta '${String(operator.$meta)}' here`)
  }
  if (textScore !== null) return textScore
  throw new CommandError(40218, 'query requires text score metadata, but it is not available')
}
