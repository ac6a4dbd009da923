import { isObjectId, toObjectId } from '../object-id.ts'

/** Where a value stands in the data: the object or list that holds it, and its key there. */
interface ValuePlace {
  readonly parentData: Record<string | number, unknown>
  readonly parentDataProperty: string | number
}

/** A keyword definition of Ajv 8, as `ajv.addKeyword()` takes it. */
interface ObjectIdKeyword {
  /** The name in schemas. */
  readonly keyword: 'objectid'
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

/**
 * The keyword `objectid` for Ajv, which `@feathersjs/schema` validates with:
 * `ajv.addKeyword(keywordObjectId)`. Where a schema says `objectid: true`, ObjectIds are valid, and
 * strings of 24 hexadecimal digits, in the place of which an ObjectId is put into the data. Every
 * other value is an error of the validation that names the place, an object of JSON that imitates
 * an ObjectId too.
 */
export const keywordObjectId: ObjectIdKeyword = {
  keyword: 'objectid',
  schemaType: 'boolean',
  modifying: true,
  post: true,
  error: { message: 'must be an ObjectId or a string of 24 hexadecimal digits' },
  compile: (isOn) => (isOn ? convertInPlace : () => true),
}

function convertInPlace(value: unknown, place?: ValuePlace): boolean {
  const id = toObjectId(value)
  if (!isObjectId(id)) return false
  if (id === value) return true
  // The schema of the whole data has no place to put an ObjectId into, so a string there is invalid.
  if (place?.parentData === undefined) return false
  place.parentData[place.parentDataProperty] = id
  return true
}
