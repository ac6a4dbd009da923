/** An option of `rest()` that a function of its own sets as well. */
type NestedName = 'errorHandler' | 'notFound' | 'authentication' | 'json' | 'urlencoded' | 'query'

/** What is known to each option of `rest()` that holds options itself. */
const REST_NAMES: Readonly<Record<NestedName, readonly string[]>> = {
  errorHandler: ['html', 'json', 'logger'],
  notFound: ['verbose'],
  authentication: ['service', 'strategies', 'queryToken'],
  json: ['bodyLimit', 'maxDepth', 'maxKeys'],
  urlencoded: ['bodyLimit', 'parameterLimit', 'depth', 'arrayLimit'],
  query: ['maxLength', 'parameterLimit', 'depth', 'arrayLimit'],
}

/** Options of `rest()` that hold no options themselves. */
const PLAIN_NAMES: readonly string[] = ['formatter', 'handlerTimeoutMs', 'health']

/** The options of `rest()`. */
export const REST_OPTION_NAMES: readonly string[] = [...Object.keys(REST_NAMES), ...PLAIN_NAMES]

/**
 * Refuses what would be ignored otherwise, as a limit with a letter wrong is no limit.
 * @param owner who takes the options, for the error
 * @throws {TypeError} no object, or an option that is not known
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${owner} takes an object of options, not ${String(options)}`)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new TypeError(`${owner}: unknown option '${unknown}', allowed are ${known.join(', ')}`)
}

/** Checks the options of the function that sets one option of `rest()`. */
export function checkNamed(name: NestedName, options: unknown): void {
  const owner = name === 'authentication' ? 'parseAuthentication' : name
  checkOptionNames(`${owner}()`, options, REST_NAMES[name])
}

/** Checks all options of `rest()` or of the plugin, and what they hold. */
export function checkRestOptions(owner: string, options: object): void {
  checkOptionNames(owner, options, REST_OPTION_NAMES)
  const given = options as Readonly<Record<string, unknown>>
  for (const [name, known] of Object.entries(REST_NAMES)) {
    const values = name === 'authentication' ? [given[name]].flat() : [given[name]]
    for (const value of values) {
      if (!isLeftOut(value)) checkOptionNames(`${owner}: ${name}`, value, known)
    }
  }
}

/** A parser of one's own has no names, and `false` switches off what can be switched off. */
function isLeftOut(value: unknown): boolean {
  return value === undefined || value === false || typeof value === 'function'
}
