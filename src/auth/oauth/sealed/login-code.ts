import { createNotAuthenticated } from '../../auth-errors.ts'
import { openData, sealData } from './sealed-data.ts'

const LIFETIME_SECONDS = 60

const NO_CODE = 'The code is not valid any more: log in again'

/** What a code stands for. */
export interface CodeContent {
  /** The name of the strategy. */
  readonly strategy: string
  /** The id of the entity that has logged in. */
  readonly id: string
}

/** Returns a code that is exchanged for an access token once, within a minute. */
export function createLoginCode(content: CodeContent, secrets: readonly string[]): Promise<string> {
  const data = { ...content, jti: crypto.randomUUID() }
  return sealData('oauth-code', data, secrets, LIFETIME_SECONDS)
}

/** What is needed to redeem codes. */
export interface CodeKeeper {
  /** The name of the strategy. */
  readonly name: string
  readonly secrets: readonly string[]
  claimHere(id: string, exp: number): Promise<boolean>
  claimEverywhere(id: string, exp: number): Promise<boolean>
}

/**
 * Returns what a code stands for, the first time.
 * @throws {NotAuthenticated} it was used, is too old, or is for another strategy
 */
export async function redeemLoginCode(code: string, keeper: CodeKeeper): Promise<CodeContent> {
  const opened = await openData('oauth-code', code, keeper.secrets, NO_CODE)
  const { jti, exp, ...content } = opened
  if (content['strategy'] !== keeper.name) throw createRefusal('it is for another strategy')
  const [id, expiry] = [String(jti), Number(exp)]
  const isFirst = (await keeper.claimHere(id, expiry)) && (await keeper.claimEverywhere(id, expiry))
  if (!isFirst) throw createRefusal('it was used')
  return content as unknown as CodeContent
}

function createRefusal(reason: string) {
  return createNotAuthenticated(NO_CODE, undefined, { reason })
}
