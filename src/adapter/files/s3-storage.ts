/**
 * A storage for files in S3, or in another service with its interface.
 * @module remex/files/s3
 */

import { Readable } from 'node:stream'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { OptionError } from '../../core/errors/setup-errors.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { FileStorage } from './file-storage.ts'

/** Options of {@link s3Storage}. */
export interface S3StorageOptions {
  /** The bucket, which is private. */
  readonly bucket: string
  /** Options of the `S3Client`: `region`, `credentials`, and the `endpoint` of services other than AWS. Default: `{}`. */
  readonly client?: S3ClientConfig
  /** What the keys of objects begin with, for example `'attachments/'`. Default: nothing. */
  readonly prefix?: string
  /**
   * Whether downloads are redirected to URLs that S3 signs, and that expire after a minute. For `fetch` in browsers, the
   * bucket must allow all origins. Default: `false`, the application sends the bytes.
   */
  readonly redirect?: boolean
}

const RULES = {
  bucket: OPTION.string,
  // A client would lose its settings as a part of other options.
  client: { expected: 'an object with options of S3Client', isValid: isPlainObject },
  prefix: { expected: 'a string', isValid: (value: unknown) => typeof value === 'string' },
  redirect: OPTION.boolean,
}

const LINK_SECONDS = 60

/**
 * Returns a storage that keeps bytes in a bucket of S3. Needs the packages `@aws-sdk/client-s3`, `@aws-sdk/lib-storage`
 * and `@aws-sdk/s3-request-presigner`.
 * @throws {TypeError} an option is missing, unknown, or has an invalid value
 */
export function s3Storage(options: S3StorageOptions): FileStorage {
  checkOptions('s3Storage()', options, RULES)
  if (options.bucket === undefined) {
    throw new OptionError("s3Storage(): the option 'bucket' is required")
  }
  const { bucket: Bucket, client: config, prefix = '', redirect = false } = options
  // Other services than AWS reject the checksums of AWS, and a signed URL would have that of an empty body.
  const checksums = 'WHEN_REQUIRED'
  const client = new S3Client({
    ...{ requestChecksumCalculation: checksums, responseChecksumValidation: checksums },
    ...config,
  })
  const toObject = (id: string) => ({ Bucket, Key: prefix + id })
  /** Where clients send bytes. They can replace these until the URL expires, so they are copied from here. */
  const toSent = (id: string) => ({ Bucket, Key: `${prefix}sent/${id}` })
  return {
    async write(id, content) {
      const params = { ...toObject(id), Body: Readable.from(content, { objectMode: false }) }
      await new Upload({ client, params, queueSize: 2 }).done()
    },

    async *read(id, start, end) {
      if (end <= start) return
      const range = { Range: `bytes=${start}-${end - 1}` }
      const { Body } = await client.send(new GetObjectCommand({ ...toObject(id), ...range }))
      yield* Body as Readable
    },

    async remove(id) {
      await client.send(new DeleteObjectCommand(toObject(id)))
      await client.send(new DeleteObjectCommand(toSent(id)))
    },

    async requestUpload(id, { size, type }, expiresInMs) {
      // The length is a part of the signature.
      const object = { ...toSent(id), ContentLength: size, ContentType: type }
      const signableHeaders = new Set(['host', 'content-length', 'content-type'])
      const limits = { expiresIn: Math.ceil(expiresInMs / 1_000), signableHeaders }
      const url = await getSignedUrl(client, new PutObjectCommand(object), limits)
      return { url, headers: { 'content-type': type } }
    },

    async takeUpload(id) {
      const path = [Bucket, ...toSent(id).Key.split('/')]
      // Otherwise headers that the client has chosen would come with the bytes, such as an encoding.
      const source = { CopySource: path.map(encodeURIComponent).join('/') }
      const copy = { ...toObject(id), ...source, MetadataDirective: 'REPLACE' } as const
      try {
        await client.send(new CopyObjectCommand(copy))
      } catch (error) {
        if (error instanceof NoSuchKey) return false
        throw error
      }
      await client.send(new DeleteObjectCommand(toSent(id)))
      return true
    },

    ...(redirect && {
      link: (id, { type }, disposition) => {
        const answer = { ResponseContentType: type, ResponseContentDisposition: disposition }
        const command = new GetObjectCommand({ ...toObject(id), ...answer })
        return getSignedUrl(client, command, { expiresIn: LINK_SECONDS })
      },
    }),
  }
}
