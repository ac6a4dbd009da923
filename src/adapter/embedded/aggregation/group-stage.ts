import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { isDocument } from '../values/bson-type.ts'
import { keyOf } from '../values/compare.ts'
import { isPlainName, setField } from '../values/field-paths.ts'
import { ACCUMULATORS } from './accumulators.ts'
import type { Stage } from './stage-type.ts'

/** The stage `$group`. */
export const group: Stage = (spec, { collation, compileExpression }) => {
  if (!isDocument(spec)) throw new CommandError(15947, "a group's fields must be an object")
  const { _id: id, ...fields } = spec
  if (id === undefined) throw new CommandError(15955, 'a group specification must include an _id')
  const readId = compileExpression(id)
  const outputs = Object.entries(fields).map(([name, field]) => {
    if (!isPlainName(name)) {
      throw new CommandError(40235, `'${name}' is not a valid field name in a group`)
    }
    const [operator, operand] = readAccumulator(name, field)
    const accumulate = ACCUMULATORS.get(operator)
    if (accumulate === undefined) {
      const message = `unknown group operator '${operator}': it is not supported by the embedded server`
      throw new CommandError(15952, message)
    }
    if (operator === '$count' && !(isDocument(operand) && Object.keys(operand).length === 0)) {
      throw new CommandError(14, '$count takes no arguments, i.e. $count:{}')
    }
    return { name, accumulate, read: compileExpression(operand) }
  })
  return (documents) => {
    const groups = new Map<string, { readonly id: unknown; readonly members: Document[] }>()
    for (const document of documents) {
      const value = readId(document) ?? null
      const key = keyOf(value, collation)
      const known = groups.get(key)
      if (known === undefined) groups.set(key, { id: value, members: [document] })
      else known.members.push(document)
    }
    return [...groups.values()].map(({ id: _id, members }) => {
      const result: Document = { _id }
      for (const { name, accumulate, read } of outputs) {
        setField(result, name, accumulate(members.map(read), collation))
      }
      return result
    })
  }
}

function readAccumulator(name: string, field: unknown): [string, unknown] {
  const operators = isDocument(field) ? Object.entries(field) : []
  const [first] = operators
  if (first === undefined || !first[0].startsWith('$')) {
    throw new CommandError(40234, `The field '${name}' must be an accumulator object`)
  }
  if (operators.length > 1) {
    throw new CommandError(40238, `The field '${name}' must specify one accumulator`)
  }
  if (Array.isArray(first[1]) && first[0] !== '$push' && first[0] !== '$addToSet') {
    throw new CommandError(40237, `The ${first[0]} accumulator is a unary operator`)
  }
  return first
}
