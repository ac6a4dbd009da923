import { BadRequest } from '../../core/errors/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { isReservedName } from '../field-path.ts'

/** The deepest record that the server stores; it bounds the recursion here as well. */
const MAX_DEPTH = 100

/** What the server nests at most, updates included. */
const MAX_NESTING = 200

/** No names beyond those of fields. */
export const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Checks a value that a caller outside sent to be stored.
 * @param allowed names that are otherwise refused, for the keys of the value itself
 * @param allowedBelow the same for the keys of what is inside it
 * @throws {BadRequest} operators, dotted names, numbers that JSON can't hold, too many levels
 */
export function checkValue(
  value: unknown,
  depth = 0,
  allowed: ReadonlySet<string> = NO_NAMES,
  allowedBelow: ReadonlySet<string> = NO_NAMES,
): void {
  if (depth > MAX_DEPTH) refuseDepth(MAX_DEPTH)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BadRequest('The data has a number that is not finite')
  }
  if (Array.isArray(value)) {
    for (const item of value) checkValue(item, depth + 1, allowedBelow, allowedBelow)
  }
  if (!isPlainObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    if (!allowed.has(name)) checkName(name)
    checkValue(inner, depth + 1, allowedBelow, allowedBelow)
  }
}

/**
 * @throws {BadRequest} an operator, a dotted path, or a name that JavaScript or BSON gives
 *   a meaning
 */
export function checkName(name: string): void {
  if (name.includes('.') || name.startsWith('$') || isReservedName(name)) refuseName(name)
}

/**
 * Checks a value that a caller inside stores: what came as JSON at some time holds no imitation of an
 * ObjectId.
 * @throws {BadRequest} a name that JavaScript or BSON gives a meaning
 */
export function checkReservedNames(value: unknown, depth = 0): void {
  // A record that holds itself has no end.
  if (depth > MAX_NESTING) refuseDepth(MAX_NESTING)
  if (Array.isArray(value)) for (const item of value) checkReservedNames(item, depth + 1)
  if (!isPlainObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    if (isReservedName(name)) refuseName(name)
    checkReservedNames(inner, depth + 1)
  }
}

function refuseDepth(most: number): never {
  throw new BadRequest(`The data is nested more than ${most} levels deep`)
}

function refuseName(name: string): never {
  throw new BadRequest(`The data has the field name '${name}', which is not allowed`)
}
