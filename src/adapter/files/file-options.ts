import type { Document } from 'mongodb'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { FileFacts } from '../../core/files/file-content.ts'
import { INLINE_TYPES } from '../../core/files/media-types.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { SECRET_OPTION } from '../../core/secrets/secret.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'
import type { MongoDBOptions } from '../mongodb-options.ts'
import type { FileStorage } from './file-storage.ts'

interface FileOptions {
  /** Where the bytes are. Default: GridFS, in a bucket with the name of the collection. */
  readonly storage?: FileStorage
  /** The largest file, in bytes. Default: 26,214,400 (25 MiB). */
  readonly maxBytes?: number
  /** The media types that are accepted: `['image/*', 'application/pdf']`. Default: all. */
  readonly types?: readonly string[]
  /**
   * The media types that browsers may display; others are saved. HTML and SVG, if they are listed, are displayed without
   * scripts. Default: common images, audio and video, PDF and plain text.
   */
  readonly inline?: readonly string[]
  /** Whether HTML forms can upload files, by the package `@fastify/multipart`. Default: `false`. */
  readonly forms?: boolean
  /** Signs the links of `createLink()`: at least 32 bytes, the same in all processes. Default: there are no links. */
  readonly linkSecret?: string
}

/** Options of `FileService`: those of a `MongoDBService`, and those for files. */
export interface FileServiceOptions
  extends Omit<MongoDBOptions, (typeof RECORD_OPTIONS)[number]>,
    FileOptions {}

/** The options for files with their defaults. */
export type ResolvedFileOptions = Required<Omit<FileOptions, 'storage' | 'linkSecret'>> &
  Pick<FileOptions, 'storage' | 'linkSecret'>

const TYPES: OptionRule = {
  expected: "a list of media types, as 'image/png' or 'image/*'",
  isValid: (value) =>
    Array.isArray(value) &&
    value.every((type) => /^[\w.+-]+\/(?:[\w.+-]+|\*)$|^\*\/\*$/.test(type)),
}

/** Options of a `MongoDBService` that would separate records from their bytes, in code without types. */
const RECORD_OPTIONS = ['allowClientId', 'disableObjectify', 'id', 'multi'] as const

const RULES: Readonly<Record<keyof FileOptions, OptionRule>> = {
  storage: {
    expected: 'an object with the methods write, read and remove',
    isValid: (value) =>
      isObject(value) && ['write', 'read', 'remove'].every((name) => hasMethod(value, name)),
  },
  maxBytes: OPTION.positiveInteger,
  types: TYPES,
  inline: TYPES,
  forms: OPTION.boolean,
  linkSecret: SECRET_OPTION,
}

const DEFAULTS: ResolvedFileOptions = {
  maxBytes: 26_214_400,
  types: ['*/*'],
  inline: INLINE_TYPES,
  forms: false,
}

const PAGES = { default: 50, max: 250 }

/**
 * Returns the options for files, and those of the `MongoDBService`.
 * @throws {TypeError} an option has an invalid value
 */
export function resolveFileOptions(options: FileServiceOptions): {
  readonly files: ResolvedFileOptions
  readonly records: MongoDBOptions
} {
  const { storage, maxBytes, types, inline, forms, linkSecret, ...others } = options
  const files = { storage, maxBytes, types, inline, forms, linkSecret }
  checkOptions('FileService', files, RULES)
  const refused = RECORD_OPTIONS.find((name) => name in others)
  if (refused !== undefined) throw new OptionError(`FileService: there is no option '${refused}'`)
  const records = { paginate: PAGES, ...others }
  const resolved = withDefaults(DEFAULTS, files as ResolvedFileOptions)
  const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase())
  return {
    files: { ...resolved, types: lower(resolved.types), inline: lower(resolved.inline) },
    records,
  }
}

/** A record of a file. */
export interface FileRecord extends FileFacts, Document {}

/** The data of a new file: a name, unless the upload has one, and the fields of the application. */
export type NewFile<T> = Omit<T, keyof FileFacts | '_id'> & Partial<Pick<FileFacts, 'name'>>
