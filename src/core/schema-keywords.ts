/** Where a value stands in the data: the object or list that holds it, and its key there. */
export interface ValuePlace {
  readonly parentData: Record<string | number, unknown>
  readonly parentDataProperty: string | number
}

/** A keyword of JSON Schema that converts, as `ajv.addKeyword()` of Ajv 8 takes it. */
export interface ConvertingKeyword<Name extends string = string> {
  /** The name in schemas. */
  readonly keyword: Name
  /** `true` turns the keyword on, `false` off. */
  readonly schemaType: 'boolean'
  /** Tells Ajv that the value may have become another one. */
  readonly modifying: true
  /** Lets the other keywords, `pattern` for example, see the string that was given. */
  readonly post: true
  /** What the error of a value says. */
  readonly error: { readonly message: string }
  /** Returns the check of a schema: it says whether a value is valid, and converts it. */
  readonly compile: (isOn: boolean) => (value: unknown, place?: ValuePlace) => boolean
}

/** The keywords that schemas in this process have asked for, by their names. */
const KEYWORDS = new Map<string, ConvertingKeyword>()

/**
 * Makes a keyword known to the schemas of this process. A layer that has a keyword calls it where it
 * makes a schema with the keyword, so that importing changes nothing.
 */
export function addSchemaKeyword(keyword: ConvertingKeyword): void {
  KEYWORDS.set(keyword.keyword, keyword)
}

/** Returns the keywords that are known by now. */
export function findSchemaKeywords(): Iterable<ConvertingKeyword> {
  return KEYWORDS.values()
}
