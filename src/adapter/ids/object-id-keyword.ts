import type { ConvertingKeyword, ValuePlace } from '../../core/schema-keywords.ts'
import { isObjectId, toObjectId } from '../object-id.ts'

/**
 * The keyword `objectid` for an Ajv of your own: `ajv.addKeyword(keywordObjectId)`. That of Remex has
 * it already. Where a schema says `objectid: true`, ObjectIds are valid, and strings of 24 hexadecimal
 * digits, in the place of which an ObjectId is put into the data. Every other value is an error of the
 * validation that names the place, an object of JSON that imitates an ObjectId too.
 */
export const keywordObjectId: ConvertingKeyword<'objectid'> = {
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
