import type { ObjectId } from 'mongodb'
import type { AroundHook, HookContext } from '../../core/application-defaults.ts'
import {
  InvalidBody,
  InvalidData,
  InvalidLink,
  MultiNotAllowed,
  RecordNotFound,
} from '../../core/errors/coded-errors.ts'
import { ServiceError } from '../../core/errors/index.ts'
import { ArgumentError, OptionError } from '../../core/errors/setup-errors.ts'
import { afterCommit } from '../../core/events/event-gate.ts'
import type { DirectUpload, FileStore, StoredFile } from '../../core/files/file-content.ts'
import { FILE_STORE } from '../../core/files/file-content.ts'
import { toFileName } from '../../core/files/file-name.ts'
import { includesType } from '../../core/files/media-types.ts'
import { nameFunction } from '../../core/function-metadata.ts'
import type { StoredHook } from '../../core/hooks/hook-registry.ts'
import { findServiceEntry } from '../../core/index.ts'
import { checkOptionNames, checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Id, Params, Query } from '../../core/params.ts'
import type { RecordQuery } from '../../core/services/record-query.ts'
import { changeParams } from '../../core/transport-facts.ts'
import { isObject } from '../../core/value-kind.ts'
import { callDatabase } from '../driver-error.ts'
import type { NewRecord } from '../hookless-service.ts'
import type { AnyDriver, MongoDBParams } from '../mongodb-params.ts'
import { getGivenOptions } from '../mongodb-params.ts'
import { MongoDBService } from '../mongodb-service.ts'
import type { AdapterId, NullableAdapterId } from '../object-id.ts'
import { findTransaction } from '../transactions/transaction-attempt.ts'
import type { UnreadParams, WriteCount } from '../writes/write-many.ts'
import type { NewUpload } from './direct-upload.ts'
import { readNewUpload } from './direct-upload.ts'
import type { BegunFile } from './file-bytes.ts'
import { FileBytes } from './file-bytes.ts'
import type {
  FileRecord,
  FileServiceOptions,
  NewFile,
  ResolvedFileOptions,
} from './file-options.ts'
import { resolveFileOptions } from './file-options.ts'
import { SignedLinks } from './signed-links.ts'

/** The key under which the params of a `create` list the files that it has stored. Copies of the params keep it. */
const CREATED: unique symbol = Symbol('remex.createdFiles')

type FileParams<T> = MongoDBParams<RecordQuery<T>> & { readonly [CREATED]?: BegunFile[] }

/** The fields of a record that follow from its bytes. */
const FIXED: readonly string[] = ['type', 'size', 'hash']

const DAY_MS = 24 * 60 * 60 * 1_000
const LINK_MS = 15 * 60 * 1_000

/**
 * A service whose records describe files, and that keeps their bytes. `create` stores `params.upload`, which is the body
 * of an external call. Hooks before `create` run before the first byte is read; if a later hook or the database rejects
 * the call, nothing of the file is left. `remove` removes the bytes too. Files are never replaced: there is no `update`.
 */
export class FileService<T extends FileRecord = FileRecord, D = NewFile<T>>
  extends MongoDBService<T, D>
  implements FileStore
{
  /** @internal */
  readonly createsOutsideTransactions: true = true
  /** @internal */
  readonly takesForms: boolean
  /** @internal */
  readonly hasLinks: boolean
  /** @internal */
  readonly redirects: boolean
  readonly #options: ResolvedFileOptions
  readonly #bytes: FileBytes
  readonly #links: SignedLinks | null
  /** The sweep of the start. */
  #sweeping: Promise<unknown> = Promise.resolve()

  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  constructor(options: FileServiceOptions) {
    const { files, records } = resolveFileOptions(options)
    super(records as never)
    // Without the method, no caller is offered it.
    Object.defineProperty(this, 'update', { value: undefined })
    Object.defineProperty(this, FILE_STORE, { value: true })
    this.takesForms = files.forms
    this.hasLinks = files.linkSecret !== undefined
    this.redirects = files.storage?.link !== undefined
    this.#options = files
    this.#bytes = new FileBytes(
      () => this.getModel(),
      files,
      (error) => this.#warn(error),
    )
    this.#links = files.linkSecret === undefined ? null : new SignedLinks(files.linkSecret)
  }

  /**
   * Creates the indexes of the service, and removes what killed processes and abandoned direct uploads have left.
   * @throws {Error} an index cannot be created
   * @throws {TypeError} the service offers `createUpload`, but its storage has no direct uploads
   */
  override async setup(...given: Parameters<MongoDBService['setup']>): Promise<void> {
    await super.setup(...given)
    this.#addHook()
    if (findServiceEntry(this)?.methods.has('createUpload')) await this.#bytes.openDirect()
    // A storage that is down must not keep the application from starting.
    this.#sweeping = this.sweep().catch((error) => this.#warn(error))
  }

  /** Waits until the sweep of the start has ended. */
  override async teardown(...given: Parameters<MongoDBService['teardown']>): Promise<void> {
    await this.#sweeping
    await super.teardown(...given)
  }

  /**
   * Removes the bytes that killed processes and abandoned direct uploads have left. The application does this when it
   * starts; call it in a job, for applications that run for weeks. Resolves to the number of these files; those that it
   * cannot tidy up are logged, and left to the next sweep.
   * @param options `minAgeMs`: how long ago these files were begun, at least as long as an upload may take. Default: a day
   * @throws {TypeError} an option is unknown or has an invalid value
   */
  async sweep(options: { readonly minAgeMs?: number } = {}): Promise<number> {
    checkOptions('sweep()', options, { minAgeMs: OPTION.count })
    const { minAgeMs = DAY_MS } = options
    return this.#bytes.sweep(minAgeMs)
  }

  /**
   * Returns the path of a link, below the prefix of the services, by which anyone can read a file until it expires.
   * @param options `expiresInMs`: default 15 minutes
   * @throws {TypeError} the service has no option `linkSecret`, is not registered, or its path has placeholders; an option
   *   is unknown or has an invalid value
   */
  createLink(id: AdapterId, options: { readonly expiresInMs?: number } = {}): string {
    checkOptionNames('createLink()', options, ['expiresInMs'])
    const { expiresInMs = LINK_MS } = options
    const path = findServiceEntry(this)?.path
    if (this.#links === null || path === undefined) {
      throw new OptionError("createLink(): set the option 'linkSecret', and register the service")
    }
    if (path.includes(':')) {
      throw new ArgumentError(`createLink(): the path '${path}' has placeholders`)
    }
    const query = this.#links.create(path, String(id), expiresInMs)
    return `/${path}/${encodeURIComponent(String(id))}/content${query}`
  }

  /**
   * Begins the upload of a file whose bytes a client sends to the storage itself, for example `s3Storage()`. The token of
   * the result then creates the file, by `params.upload` or `POST /files?name=a.pdf&$upload=<token>`.
   * Name it in the option `methods` to offer it; its hooks decide who may call it.
   * @param data `size`, in bytes, and `type`
   * @throws {BadRequest} the size or the type is not valid
   * @throws {PayloadTooLarge} the size exceeds the limit
   * @throws {TypeError} the storage has no direct uploads
   */
  async createUpload(data: NewUpload, _params?: Params): Promise<DirectUpload> {
    return this.#bytes.beginDirect(readNewUpload(data, this.#options), LINK_MS)
  }

  /** @internal */
  checkLink(id: Id, query: Query): void {
    if (this.#links === null) throw new InvalidLink('There are no signed links to these files')
    this.#links.check(findServiceEntry(this)?.path ?? '', String(id), query)
  }

  /** @internal */
  async openFile(id: Id): Promise<StoredFile> {
    const records = await this.getModel()
    const record = await callDatabase(() => records.findOne({ _id: this.getObjectId(id) as never }))
    if (record === null) throw new RecordNotFound(`No record found for id '${id}'`)
    const { _id, name, type, size, hash } = record as unknown as FileRecord & { _id: unknown }
    const facts = { name, type, size, hash }
    const file = String(_id)
    const storage = await this.#bytes.openStorage()
    return {
      ...facts,
      isInline: includesType(this.#options.inline, type),
      read: (start, end) => storage.read(file, start, end),
      findURL: async (shown, disposition) =>
        (await storage.link?.(file, { ...facts, type: shown }, disposition)) ?? null,
    }
  }

  override _create(data: D | NewRecord<T>, params?: FileParams<T>): Promise<T>
  override _create(data: (D | NewRecord<T>)[], params?: FileParams<T>): Promise<T[]>
  override _create(
    data: D | NewRecord<T> | (D | NewRecord<T>)[],
    params?: FileParams<T>,
  ): Promise<T | T[]>
  override async _create(given: unknown, params: FileParams<T> = {}): Promise<never> {
    const { upload, [CREATED]: created } = params
    if (!isObject(given) || Array.isArray(given))
      throw new InvalidData('Files are created one by one')
    if (upload === undefined) {
      throw new InvalidBody(
        'A file needs bytes: the body of the request, or params.upload in internal calls',
      )
    }
    await this.#checkUpload(params)
    const [begun, facts] =
      'token' in upload
        ? await this.#bytes.take(upload, params.signal)
        : await this.#bytes.write(upload)
    try {
      const name = toFileName(String(given['name'] ?? upload.name ?? ''))
      const data = { ...given, name, ...facts, _id: begun.file }
      const record = await super._create(data as never, params)
      if (created === undefined) await this.#bytes.confirm(begun)
      else created.push(begun)
      return record as never
    } catch (error) {
      await this.#bytes.abandon(begun, error)
      throw error
    }
  }

  override _remove(id: null, params: AnyDriver): Promise<T[]>
  override _remove(id: null, params: FileParams<T> & UnreadParams): Promise<WriteCount>
  override _remove(id: null, params?: FileParams<T>): Promise<T[]>
  override _remove(id: AdapterId, params?: FileParams<T>): Promise<T>
  override _remove(id: NullableAdapterId, params?: FileParams<T>): Promise<T | T[]>
  override async _remove(id: NullableAdapterId, given?: FileParams<T> | AnyDriver): Promise<never> {
    const params = (given ?? {}) as FileParams<T>
    if (id === null) throw new MultiNotAllowed('Files are removed one by one')
    checkCollection(params)
    const begun = await this.#bytes.begin(this.getObjectId(id) as ObjectId)
    try {
      const removed = await super._remove(id, params)
      await this.#afterRemoval(params, () => this.#bytes.settle(begun))
      return removed as never
    } catch (error) {
      // If the call was rejected, the bytes stay. If its outcome is unknown, the sweep finds out.
      const isRejected = error instanceof ServiceError && error.code < 500
      if (isRejected) await this.#bytes.confirm(begun)
      throw error
    }
  }

  /** Adds the hook that sees how calls end, unless an earlier start has added it. */
  #addHook(): void {
    const entry = findServiceEntry(this)
    const hook = this.#keepWhole as StoredHook
    if (entry === undefined || entry.outermost.get('around', 'create').includes(hook)) return
    entry.outermost.add({ around: { create: hook, patch: hook } })
    entry.compile()
  }

  /** Discards a new file if the call fails after it was stored, and keeps callers from changing facts. */
  readonly #keepWhole: AroundHook = nameFunction('keepWhole', async (context, next) => {
    const { method, params } = context
    if (method === 'patch') {
      if (params.provider !== undefined) dropFacts(context as HookContext)
      return next()
    }
    const created: BegunFile[] = []
    changeParams(context, { [CREATED]: created })
    try {
      await next()
    } catch (error) {
      for (const begun of created) await this.#bytes.discard(begun)
      throw error
    }
    for (const begun of created) await this.#bytes.confirm(begun)
  })

  /** Runs a step once the removal of a call is final: after the commit of its transaction. */
  async #afterRemoval(params: Params, step: () => Promise<void>): Promise<void> {
    if (afterCommit(() => void step())) return
    // Nothing says when the session of a caller commits: the sweep does it.
    if (hasTransaction(params as MongoDBParams)) return
    await step()
  }

  #warn(err: unknown): void {
    const message = 'Cleaning up after a file failed; the next sweep will do it'
    findServiceEntry(this)?.app.logger?.warn({ err }, message)
  }

  /** @throws {TypeError} the bytes would arrive within a transaction, which may run again and then finds none */
  async #checkUpload(params: FileParams<T>): Promise<void> {
    checkCollection(params)
    const { db } = await this.getModel()
    if (!hasTransaction(params) && findTransaction(db.client) === undefined) return
    throw new ArgumentError(
      'An upload cannot be part of a transaction, which ends after a minute: upload the file, then refer to it in another call',
    )
  }
}

/** Whether the params have a session with a transaction. */
function hasTransaction(params: MongoDBParams): boolean {
  return getGivenOptions(params)?.session?.inTransaction() === true
}

/** @throws {TypeError} the call is for another collection, whose bytes would not be found */
function checkCollection({ adapter }: Pick<MongoDBParams, 'adapter'>): void {
  if (adapter?.Model !== undefined) {
    throw new ArgumentError('params.adapter.Model: the files of a service have one collection')
  }
}

/** Removes from external data the fields that follow from the bytes, and makes the name safe. */
function dropFacts(context: HookContext): void {
  const { data } = context
  if (!isObject(data) || Array.isArray(data)) return
  const entries = Object.entries(data).filter(([name]) => !FIXED.includes(name))
  context.data = Object.fromEntries(
    entries.map(([name, value]) =>
      name === 'name' ? [name, toFileName(String(value))] : [name, value],
    ),
  )
}
