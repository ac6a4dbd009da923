import { createNotAuthenticated } from '../../auth-errors.ts'
import type { RevocationList } from '../../tokens/token-revocation.ts'
import { claimOnce } from '../../tokens/token-revocation.ts'
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

/**
 * Returns what a code stands for, the first time.
 * @param list notes which codes were used
 * @throws {NotAuthenticated} it was used, is too old, or is for another strategy
 */
export async function redeemLoginCode(
  code: string,
  strategy: string,
  secrets: readonly string[],
  list: RevocationList,
): Promise<CodeContent> {
  const { jti, exp, ...content } = await openData('oauth-code', code, secrets, NO_CODE)
  if (content['strategy'] !== strategy) throw refuse('it is for another strategy')
  if (!(await claimOnce(list, String(jti), Number(exp)))) throw refuse('it was used')
  return content as unknown as CodeContent
}

function refuse(reason: string) {
  return createNotAuthenticated(NO_CODE, undefined, { reason })
}
