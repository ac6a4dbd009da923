import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { isDocument } from '../values/bson-type.ts'
import { getField, isIndex, setField } from '../values/field-paths.ts'

const MAX_ARRAY_PADDING = 1_500_000

/**
 * Changes one field, in place, to what `change` returns for its old value: `undefined` removes it,
 * and an item of an array becomes null. Missing documents on the way are created if `creates`.
 * @throws {CommandError} 28 the path leads through a value that has no fields
 */
export function modifyField(
  document: Document,
  parts: readonly string[],
  creates: boolean,
  change: (old: unknown) => unknown,
): void {
  let target: Document | unknown[] = document
  for (const [at, part] of parts.entries()) {
    if (!canHold(target, part)) {
      if (!creates) return
      const holder = parts.slice(0, at).join('.')
      throw new CommandError(28, `Cannot create field '${part}' in element '${holder}'`)
    }
    const old = getField(target, part)
    if (old === undefined && !creates) return
    if (at === parts.length - 1) {
      const value = change(old)
      if (value === undefined) remove(target, part)
      else if (value !== old) put(target, part, value)
      return
    }
    if (old === undefined) put(target, part, {})
    target = getField(target, part) as Document
  }
}

function canHold(target: unknown, part: string): target is Document | unknown[] {
  return isDocument(target) || (Array.isArray(target) && isIndex(part))
}

function put(target: Document | unknown[], part: string, value: unknown): void {
  if (!Array.isArray(target)) {
    setField(target, part, value)
    return
  }
  const index = Number(part)
  if (index - target.length > MAX_ARRAY_PADDING) {
    throw new CommandError(2, `Cannot backfill the array up to index ${part}`)
  }
  while (target.length < index) target.push(null)
  target[index] = value
}

function remove(target: Document | unknown[], part: string): void {
  if (!Array.isArray(target)) delete target[part]
  else if (Number(part) < target.length) target[Number(part)] = null
}
