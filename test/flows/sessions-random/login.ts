import assert from 'node:assert/strict'

/** The answer to a login or a refresh. */
export interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly authentication: { readonly payload: { readonly sid: string; readonly sub: string } }
}

/** What a test knows of a login: its session, its refresh tokens, and the access token beside each. */
export class Login {
  readonly sid: string
  readonly userId: string
  /** All of them, the newest last. */
  readonly tokens: string[] = []
  readonly #access = new Map<string, string>()

  constructor(pair: Pair) {
    const { sid, sub } = pair.authentication.payload
    this.sid = sid
    this.userId = sub
    this.add(pair)
  }

  get newest(): string {
    return this.back(0)
  }

  get accessToken(): string {
    return this.#access.get(this.newest) ?? ''
  }

  /** Returns the token so many places before the newest one, or the first. */
  back(count: number): string {
    return this.tokens[Math.max(0, this.tokens.length - 1 - count)] ?? ''
  }

  /** Adds what was answered. A refresh token that came before comes with the same access token. */
  add({ accessToken, refreshToken, authentication }: Pair): void {
    assert.equal(authentication.payload.sid, this.sid)
    assert.equal(authentication.payload.sub, this.userId)
    const known = this.#access.get(refreshToken)
    if (known === undefined) this.tokens.push(refreshToken)
    else assert.equal(accessToken, known, 'the same pair')
    this.#access.set(refreshToken, accessToken)
  }
}
