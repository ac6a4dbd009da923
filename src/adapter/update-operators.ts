import { COMPARING } from './operator-names.ts'

/** What an update operator takes for a field, and how callers outside may use it. */
export interface UpdateOperator {
  /** Keys that say how and not what: `{ $push: { tags: { $each: […] } } }`. */
  readonly modifiers: ReadonlySet<string>
  /** Whether the modifiers may stand at any depth. */
  readonly isDeep: boolean
  /** Whether the value is the path of another field. */
  readonly takesPath: boolean
  /**
   * What it reads of the field, and so may reveal of a hidden field in it: `conditions` read the
   * fields that they name, `all` is compared or moved as a whole.
   */
  readonly reads: 'nothing' | 'conditions' | 'all'
}

/** Operators by name; what any other one would do with a field is not known. */
export const UPDATE_OPERATORS: ReadonlyMap<string, UpdateOperator> = new Map([
  row('$set', { reads: 'nothing' }),
  row('$setOnInsert', { reads: 'nothing' }),
  row('$unset', { reads: 'nothing' }),
  row('$pop', { reads: 'nothing' }),
  row('$currentDate', { reads: 'nothing', modifiers: new Set(['$type']) }),
  row('$push', {
    reads: 'nothing',
    modifiers: new Set(['$each', '$position', '$slice', '$sort']),
  }),
  row('$addToSet', { modifiers: new Set(['$each']) }),
  row('$pull', { reads: 'conditions', modifiers: COMPARING, isDeep: true }),
  row('$pullAll'),
  row('$rename', { takesPath: true }),
  row('$inc'),
  row('$mul'),
  row('$min'),
  row('$max'),
  row('$bit'),
])

function row(name: string, more: Partial<UpdateOperator> = {}): [string, UpdateOperator] {
  return [name, { modifiers: new Set(), isDeep: false, takesPath: false, reads: 'all', ...more }]
}
