import { createHash } from 'node:crypto'
import { BodyTooLarge, BodyTypeUnsupported, InvalidBody } from '../../core/errors/coded-errors.ts'
import { OrderError } from '../../core/errors/setup-errors.ts'
import type { FileFacts, Upload } from '../../core/files/file-content.ts'
import { HEAD_BYTES, includesType, toMediaType } from '../../core/files/media-types.ts'

/** What files may be. */
export interface UploadLimits {
  readonly maxBytes: number
  readonly types: readonly string[]
}

/** What is known of a file from its bytes. */
export type CheckedFacts = Omit<FileFacts, 'name'>

/** An upload on its way into a storage. */
export class CheckedUpload {
  readonly #upload: Upload
  readonly #limits: UploadLimits
  readonly #readBefore: WeakSet<object>
  readonly #hash = createHash('sha256')
  #size = 0
  #type = ''
  #isWhole = false

  /**
   * @param readBefore gets the streams that are read: one that was read before would give an empty file
   * @throws {PayloadTooLarge} the declared size exceeds the limit
   */
  constructor(upload: Upload, limits: UploadLimits, readBefore: WeakSet<object>) {
    this.#upload = upload
    this.#limits = limits
    this.#readBefore = readBefore
    checkSize(upload.size, limits)
  }

  /**
   * Returns what was found.
   * @throws {TypeError} the content has not been read to its end
   */
  toFacts(): CheckedFacts {
    if (!this.#isWhole) throw new OrderError('The storage has not read the whole content of a file')
    return { type: this.#type, size: this.#size, hash: this.#hash.digest('hex') }
  }

  /**
   * Returns the content. The first bytes appear when its type is known.
   * @throws {PayloadTooLarge} it exceeds the limit
   * @throws {UnsupportedMediaType} files of its type are not accepted
   * @throws {BadRequest} it has another size than was declared
   * @throws {TypeError} it is a stream that was read before
   */
  async *read(): AsyncGenerator<Uint8Array, void> {
    const { content, size } = this.#upload
    const isStream = !(content instanceof Uint8Array)
    if (this.#readBefore.has(content)) {
      throw new OrderError('The content of an upload can be read only once')
    }
    if (isStream) this.#readBefore.add(content)
    /** The first parts, until they tell the type. */
    let head: Uint8Array[] | null = []
    for await (const part of isStream ? content : split(content)) {
      this.#size += part.length
      checkSize(this.#size, this.#limits)
      this.#hash.update(part)
      if (head === null) yield part
      else {
        head.push(part)
        if (this.#size < HEAD_BYTES) continue
        this.#findType(head)
        yield* head
        head = null
      }
    }
    if (size !== undefined && size !== this.#size) {
      throw new InvalidBody(`The file has ${this.#size} bytes, but ${size} were declared`)
    }
    if (head !== null) {
      this.#findType(head)
      yield* head
    }
    this.#isWhole = true
  }

  #findType(head: readonly Uint8Array[]): void {
    this.#type = toMediaType(Buffer.concat(head), this.#upload.type)
    if (includesType(this.#limits.types, this.#type)) return
    throw new BodyTypeUnsupported(`Files of the type ${this.#type} are not accepted`)
  }
}

/** @throws {PayloadTooLarge} the size exceeds the limit */
export function checkSize(size = 0, { maxBytes }: Pick<UploadLimits, 'maxBytes'>): void {
  if (size > maxBytes) throw new BodyTooLarge(`A file may have at most ${maxBytes} bytes`)
}

/** The size of the parts of content that is in memory. */
const PART_BYTES = 65_536

function* split(content: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < content.length; at += PART_BYTES)
    yield content.subarray(at, at + PART_BYTES)
}
