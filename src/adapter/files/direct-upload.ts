import { InvalidData } from '../../core/errors/coded-errors.ts'
import type { FileFacts } from '../../core/files/file-content.ts'
import { readMediaType, UNKNOWN_TYPE } from '../../core/files/media-types.ts'
import type { CustomMethodSchemas } from '../../core/services/service-schemas.ts'
import { isObject } from '../../core/value-kind.ts'
import type { UploadLimits } from './checked-upload.ts'
import { checkSize } from './checked-upload.ts'

/** What a client declares of a file that it will send to the storage itself. */
export type NewUpload = Pick<FileFacts, 'size'> & Partial<Pick<FileFacts, 'type'>>

const STRING = { type: 'string' }

/** The schemas of `createUpload`, for services with schemas: `methods: { createUpload: directUploadSchemas }`. */
export const directUploadSchemas: CustomMethodSchemas = {
  data: {
    type: 'object',
    required: ['size'],
    properties: { size: { type: 'integer', minimum: 1 }, type: STRING },
  },
  result: {
    type: 'object',
    required: ['method', 'url', 'headers', 'token'],
    properties: {
      ...{ method: { const: 'PUT' }, url: STRING, token: STRING },
      headers: { type: 'object', additionalProperties: STRING },
    },
  },
}

/**
 * Returns what the data of `createUpload` declares.
 * @throws {BadRequest} the size or the type is not valid
 * @throws {PayloadTooLarge} the size exceeds the limit
 */
export function readNewUpload(data: unknown, limits: UploadLimits): Required<NewUpload> {
  const { size, type: given = UNKNOWN_TYPE } = (isObject(data) ? data : {}) as Partial<NewUpload>
  if (!(Number.isSafeInteger(size) && Number(size) > 0)) {
    throw new InvalidData("The 'size' of an upload is a whole number of bytes from 1 on")
  }
  const type = readMediaType(String(given))
  if (type === null) throw new InvalidData("The 'type' of an upload is a media type")
  checkSize(size, limits)
  return { size: Number(size), type }
}
