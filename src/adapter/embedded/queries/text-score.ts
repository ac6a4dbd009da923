import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'

/**
 * Returns how well a document matches the `$text` of the filter: `null` where the filter has none,
 * `undefined` where there are no scores at all.
 */
export type TextScore = ((document: Document) => number) | null | undefined

/**
 * Returns what `{ $meta: 'textScore' }` stands for.
 * @throws {CommandError} 40218 the filter has no `$text`; 2 it asks for something else
 */
export function readTextScore(
  operator: Document,
  textScore: TextScore,
): (document: Document) => number {
  const isAlone = Object.keys(operator).length === 1
  if (operator.$meta !== 'textScore' || !isAlone || textScore === undefined) {
    throw notSupported(`$meta '${String(operator.$meta)}' here`)
  }
  if (textScore !== null) return textScore
  throw new CommandError(40218, 'query requires text score metadata, but it is not available')
}
