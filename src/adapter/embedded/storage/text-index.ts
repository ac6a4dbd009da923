import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import type { IndexedText } from '../queries/text-query.ts'
import { isDocument } from '../values/bson-type.ts'

const WILDCARD = '$**'
const MAX_WEIGHT = 100_000

/** The key that every text index has; its fields are in its weights. */
const TEXT_KEY = { _fts: 'text', _ftsx: 1 }

/** Options of an index that mean something to a text index. */
const OPTIONS: ReadonlySet<string> = new Set([
  ...['weights', 'default_language', 'language_override', 'textIndexVersion'],
])

/** Returns whether an index is one for `$text`. */
export function isTextIndex({ key }: Document): boolean {
  return Object.values(key).includes('text')
}

/** @throws {CommandError} 67 an index for something else has an option of text indexes */
export function checkNoTextOptions(options: Document): void {
  const name = Object.keys(options).find((option) => OPTIONS.has(option))
  if (name !== undefined) throw new CommandError(67, `${name} is an option of text indexes`)
}

/**
 * Returns the key and the options of a text index as MongoDB keeps them.
 * @throws {CommandError} 67 something about it is not valid or not supported; so is every language,
 *   since none is known here
 */
export function toTextIndex(key: Document, options: Document): Document {
  const other = Object.keys(options).find((name) => !OPTIONS.has(name))
  if (other !== undefined) throw notSupported(`A text index with ${other}`, 67)
  const { default_language: language = 'english', language_override: override = 'language' } =
    options
  if (language !== 'none') {
    throw notSupported(
      `The language '${language}' of a text index (set default_language: 'none')`,
      67,
    )
  }
  if (override === '' || override.startsWith('$') || override.includes('.')) {
    throw new CommandError(67, 'language_override is not valid')
  }
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
  const entries = Object.entries(weights).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) throw new CommandError(67, 'A text index needs fields')
  for (const [path, weight] of entries) checkWeight(path, weight)
  if (WILDCARD in weights && (entries.length > 1 || weights[WILDCARD] !== 1)) {
    throw notSupported(`A text index on ${WILDCARD} with weights`, 67)
  }
  return Object.fromEntries(entries)
}

function checkWeight(path: string, weight: unknown): void {
  const isPath =
    path === WILDCARD || path.split('.').every((name) => name !== '' && !name.startsWith('$'))
  if (!isPath || path === '_fts' || path === '_ftsx') {
    throw new CommandError(67, `'${path}' is not a valid field of a text index`)
  }
  if (Number.isInteger(weight) && Number(weight) > 0 && Number(weight) < MAX_WEIGHT) return
  throw new CommandError(67, `The weight of '${path}' must be a whole number below ${MAX_WEIGHT}`)
}

/** Which strings of a document are in a text index. */
export class TextIndex {
  readonly spec: Document
  /** In the order of the paths. */
  readonly #weights: readonly (readonly [path: string, weight: number])[]
  readonly #isWildcard: boolean

  constructor(spec: Document) {
    this.spec = spec
    this.#isWildcard = WILDCARD in spec.weights
    this.#weights = this.#isWildcard ? [] : Object.entries(spec.weights)
  }

  /**
   * Returns the indexed strings of a document.
   * @throws {CommandError} 17261, 17262 the document names a language of its own, or a string can
   *   not be indexed here
   */
  textsOf(document: Document): IndexedText[] {
    const texts: IndexedText[] = []
    this.#addTexts(document, '', texts)
    return texts
  }

  #addTexts(source: Document, parent: string, texts: IndexedText[]): void {
    this.#checkLanguage(source)
    for (const [name, value] of Object.entries(source)) {
      if (this.#isWildcard && name === this.spec.language_override) continue
      this.#addValue(value, parent === '' ? name : `${parent}.${name}`, false, texts)
    }
  }

  #addValue(value: unknown, path: string, isItem: boolean, texts: IndexedText[]): void {
    if (typeof value === 'string') {
      const weight = this.#isWildcard ? 1 : this.#find(path, true)
      if (weight !== undefined) texts.push({ text: checkText(value), weight })
    } else if (Array.isArray(value)) {
      // Lists in lists are part of a wildcard index alone.
      if (!this.#isWildcard && (isItem || this.#find(path, false) === undefined)) return
      for (const item of value) this.#addValue(item, path, true, texts)
    } else if (isDocument(value)) {
      if (!this.#isWildcard && this.#find(`${path}.`, false) === undefined) return
      this.#addTexts(value, path, texts)
    }
  }

  /**
   * Returns the weight of the first path that is not less than another, if it is that one or, unless
   * it has to be, begins with it: MongoDB looks no further.
   */
  #find(path: string, isWhole: boolean): number | undefined {
    const [first, weight] = this.#weights.find(([one]) => one >= path) ?? []
    if (first === path) return weight
    const prefix = path.endsWith('.') ? path : `${path}.`
    return !isWhole && first?.startsWith(prefix) === true ? weight : undefined
  }

  #checkLanguage(source: Document): void {
    const name: string = this.spec.language_override
    if (!Object.hasOwn(source, name) || source[name] === 'none') return
    if (typeof source[name] !== 'string') {
      throw new CommandError(
        17261,
        'found language override field in document with non-string type',
      )
    }
    throw notSupported(
      `The language '${source[name]}' in the field '${name}' of a document with a text index`,
      17262,
    )
  }
}

function checkText(text: string): string {
  if (text.includes('\0')) throw notSupported('A zero byte in a string of a text index')
  return text
}
