import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { compareStrings } from '../../matching/compare.ts'
import type { TextSearch } from '../../matching/filter.ts'
import type { IndexedText } from '../queries/text-query.ts'
import { readTextQuery } from '../queries/text-query.ts'

const MAX_WEIGHT = 100_000

/** The field in which a document names its own language. */
const LANGUAGE = 'language'

/** Index options that only apply to text indexes. */
const OPTIONS: ReadonlySet<string> = new Set([
  ...['weights', 'default_language', 'language_override', 'textIndexVersion'],
])

/** The key that every text index has; its fields are in its weights. */
const TEXT_KEY = { _fts: 'text', _ftsx: 1 }

/** Returns whether an index is one for `$text`. */
export function isTextIndex({ key }: Document): boolean {
  return Object.values(key).includes('text')
}

/** @throws {CommandError} 67 another kind of index has an option of text indexes */
export function checkNoTextOptions(options: Document): void {
  const name = Object.keys(options).find((option) => OPTIONS.has(option))
  if (name !== undefined) throw new CommandError(67, `${name} is an option of text indexes`)
}

/**
 * Returns the key and the options of a text index as MongoDB keeps them.
 * @throws {CommandError} 67 it is invalid or not supported, as is every language
 */
export function toTextIndex(key: Document, options: Document): Document {
  const other = Object.keys(options).find((name) => !OPTIONS.has(name))
  if (other !== undefined) throw notSupported(`A text index with ${other}`, 67)
  const { default_language: language = 'english', language_override: override = LANGUAGE } = options
  if (language !== 'none') {
    const what = `The language '${language}' of a text index (set default_language: 'none')`
    throw notSupported(what, 67)
  }
  if (override !== LANGUAGE) throw notSupported(`The language_override '${override}'`, 67)
  const { textIndexVersion = 3 } = options
  if (textIndexVersion !== 3) throw notSupported(`textIndexVersion ${textIndexVersion}`, 67)
  return {
    key: { ...TEXT_KEY },
    weights: toWeights(key, options.weights ?? {}),
    default_language: language,
    language_override: override,
    textIndexVersion,
  }
}

function toWeights(key: Document, given: Document): Document {
  const isStored = key._fts === 'text' && key._ftsx === 1 && Object.keys(key).length === 2
  const paths = isStored ? [] : Object.keys(key)
  if (paths.some((path) => key[path] !== 'text')) {
    throw notSupported('A text index with other fields', 67)
  }
  const weights = { ...Object.fromEntries(paths.map((path) => [path, 1])), ...given }
  const entries = Object.entries(weights).sort(([a], [b]) => compareStrings(a, b))
  if (entries.length === 0) throw new CommandError(67, 'A text index needs fields')
  for (const [path, weight] of entries) checkWeight(path, weight)
  return Object.fromEntries(entries)
}

function checkWeight(path: string, weight: unknown): void {
  if (path === '$**') throw notSupported('A text index on $**', 67)
  const isPath = path.split('.').every((name) => name !== '' && !name.startsWith('$'))
  if (!isPath || path === '_fts' || path === '_ftsx') {
    throw new CommandError(67, `'${path}' is not a valid field of a text index`)
  }
  if (Number.isInteger(weight) && Number(weight) > 0 && Number(weight) < MAX_WEIGHT) return
  throw new CommandError(67, `The weight of '${path}' must be a whole number below ${MAX_WEIGHT}`)
}

/** Selects the strings of a document that belong in a text index. */
export class TextIndex {
  readonly spec: Document
  /** In the order of the paths. */
  readonly #weights: readonly (readonly [path: string, weight: number])[]

  constructor(spec: Document) {
    this.spec = spec
    this.#weights = Object.entries(spec.weights)
  }

  /**
   * Returns the indexed strings of a document.
   * @throws {CommandError} 17261, 17262 the document names its own language, or a string cannot be indexed
   */
  textsOf(document: Document): IndexedText[] {
    const texts: IndexedText[] = []
    this.#addTexts(document, '', texts)
    return texts
  }

  #addTexts(source: Document, parent: string, texts: IndexedText[]): void {
    checkLanguage(source)
    for (const [name, value] of Object.entries(source)) {
      this.#addValue(value, `${parent}${name}`, false, texts)
    }
  }

  #addValue(value: unknown, path: string, isItem: boolean, texts: IndexedText[]): void {
    if (typeof value === 'string') {
      const weight = this.#weights.find(([one]) => one === path)?.[1]
      if (weight !== undefined) texts.push({ text: checkText(value), weight })
    } else if (Array.isArray(value)) {
      if (isItem || !this.#holdsList(path)) return
      for (const item of value) this.#addValue(item, path, true, texts)
    } else if (isDocument(value) && this.#weights.some(([one]) => one.startsWith(`${path}.`))) {
      this.#addTexts(value, `${path}.`, texts)
    }
  }

  /**
   * MongoDB only looks at the next path: if that is `a-b`, it does not see that `a.c` leads into the list
   * `a`.
   */
  #holdsList(path: string): boolean {
    const [next] = this.#weights.find(([one]) => one >= path) ?? []
    return next === path || next?.startsWith(`${path}.`) === true
  }
}

function checkLanguage(source: Document): void {
  const language: unknown = Object.hasOwn(source, LANGUAGE) ? source[LANGUAGE] : 'none'
  if (language === 'none') return
  if (typeof language !== 'string') {
    const message = 'found language override field in document with non-string type'
    throw new CommandError(17261, message)
  }
  const what = `The language '${language}' in the field '${LANGUAGE}' of a document with a text index`
  throw notSupported(what, 17262)
}

function checkText(text: string): string {
  if (text.includes('\0')) throw notSupported('A zero byte in a string of a text index')
  return text
}

/**
 * Returns the `$text` of a filter, `undefined` if it has none.
 * @throws {CommandError} 2 it is in the wrong place, 27 the collection has no text index
 */
export function readTextSearch(
  filter: unknown,
  index: TextIndex | undefined,
): TextSearch | undefined {
  const [operand, another] = findOperands(filter)
  if (operand === undefined) return undefined
  if (another !== undefined) throw new CommandError(2, 'Too many text expressions')
  const query = readTextQuery(operand.value)
  if (index === undefined) throw new CommandError(27, 'text index required for $text query')
  return {
    matches: (document) => query.matches(index.textsOf(document)),
    score: (document) => query.score(index.textsOf(document)),
  }
}

/** The operators that join conditions, with the error if `$text` is among them. */
const LISTS: ReadonlyMap<string, (() => CommandError) | undefined> = new Map([
  ['$and', undefined],
  ['$nor', () => new CommandError(2, 'text expression not allowed in nor')],
  // MongoDB asks for an index for each of the other clauses.
  ['$or', () => notSupported('$text in $or')],
])

function findOperands(filter: unknown): { readonly value: unknown }[] {
  if (!isDocument(filter)) return []
  return Object.entries(filter as Document).flatMap(([name, value]) => {
    if (name === '$text') return [{ value }]
    if (!LISTS.has(name) || !Array.isArray(value)) return []
    const found = value.flatMap(findOperands)
    const fault = LISTS.get(name)
    if (found.length > 0 && fault !== undefined) throw fault()
    return found
  })
}
