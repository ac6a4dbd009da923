import type { Document } from 'bson'
import { CommandError } from '../../errors/command-error.ts'
import { isDocument } from '../../values/bson-type.ts'
import { startsWithOperator } from '../../values/field-paths.ts'
import type { Operator } from './operator.ts'

/**
 * Returns the arguments that an operator is given, in its own order.
 * @throws {CommandError} 9, 16020 one is missing or too many
 */
export function readOperands(name: string, operand: unknown, operator: Operator): unknown[] {
  const { names, count, isRaw = false } = operator
  if (isRaw) return [operand]
  const isNamed = isDocument(operand) && !startsWithOperator(operand)
  if (names !== undefined && isNamed) return readNamed(name, operand, names)
  if (count === undefined) throw new CommandError(9, `${name} takes an object of arguments`)
  const operands = toList(operand, count)
  const [least, most] = count
  if (operands.length >= least && operands.length <= most) return operands
  const wanted = least === most ? `exactly ${least}` : `${least} to ${most}`
  throw new CommandError(
    16020,
    `Expression ${name} takes ${wanted} arguments. ${operands.length} were passed in.`,
  )
}

function toList(operand: unknown, [, most]: readonly [number, number]): unknown[] {
  if (Array.isArray(operand)) return operand
  return most === 0 && isDocument(operand) && Object.keys(operand).length === 0 ? [] : [operand]
}

function readNamed(name: string, operand: Document, names: readonly string[]): unknown[] {
  const plain = names.map((one) => one.replace('?', ''))
  const unknown = Object.keys(operand).find((one) => !plain.includes(one))
  if (unknown !== undefined) {
    throw new CommandError(9, `Unrecognized parameter to ${name}: ${unknown}`)
  }
  const missing = names.find((one) => !one.endsWith('?') && !Object.hasOwn(operand, one))
  if (missing !== undefined) throw new CommandError(9, `Missing '${missing}' parameter to ${name}`)
  return plain.map((one) => (Object.hasOwn(operand, one) ? operand[one] : undefined))
}
