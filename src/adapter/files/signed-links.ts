import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidLink, InvalidQuery } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { Query } from '../../core/params.ts'
import { deriveKey } from '../../core/secrets/secret.ts'

/** Signs links to the content of files: with one, anyone can read the file until it expires. */
export class SignedLinks {
  readonly #key: Uint8Array

  constructor(secret: string) {
    this.#key = deriveKey('file links', secret)
  }

  /**
   * Returns the query of a link.
   * @throws {TypeError} the link would have no end
   */
  create(path: string, id: string, expiresInMs: number): string {
    if (!(Number.isFinite(expiresInMs) && expiresInMs > 0)) {
      throw new ArgumentError('createLink(): expiresInMs must be a number of milliseconds above 0')
    }
    const expires = Math.ceil((Date.now() + expiresInMs) / 1_000)
    return `?expires=${expires}&signature=${this.#sign(path, id, expires).toString('base64url')}`
  }

  /** @throws {Forbidden} the signature is wrong, or the link has expired */
  check(path: string, id: string, { expires, signature, ...others }: Query): void {
    if (Object.keys(others).length > 0)
      throw new InvalidQuery('A signed link has no other parameters')
    const seconds = Number(expires)
    const given = Buffer.from(String(signature), 'base64url')
    const expected = this.#sign(path, id, seconds)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new InvalidLink('The signature of the link is wrong')
    }
    // What is no number is no time in the future.
    if (!(seconds * 1_000 > Date.now())) throw new InvalidLink('The link has expired')
  }

  #sign(path: string, id: string, expires: number): Buffer {
    const signed = JSON.stringify([path, id, expires])
    return createHmac('sha256', this.#key).update(signed).digest()
  }
}
