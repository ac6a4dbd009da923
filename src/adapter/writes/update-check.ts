import { BadRequest } from '../../core/errors/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { checkHiddenConditions } from '../queries/hidden-field-check.ts'
import type { UpdateOperator } from '../update-operators.ts'
import { UPDATE_OPERATORS } from '../update-operators.ts'
import { checkName, checkValue, NO_NAMES } from './data-check.ts'

/**
 * Checks an update operator that a caller outside sent.
 * @throws {BadRequest} the option `updateOperators` does not list the operator or a dotted path in
 *   it, the id would change, or the operator has to do with a hidden field
 */
export function checkUpdateOperator(
  name: string,
  fields: unknown,
  settings: MongoDBSettings,
): void {
  const operator = UPDATE_OPERATORS.get(name)
  if (operator === undefined || !settings.updateOperators.includes(name)) {
    throw new BadRequest(`The operator ${name} is not allowed`)
  }
  if (!isPlainObject(fields)) throw new BadRequest(`The operator ${name} takes an object of fields`)
  const { modifiers, isDeep, takesPath } = operator
  for (const [path, value] of Object.entries(fields)) {
    checkPath(name, path, settings)
    if (takesPath) checkTarget(name, value, settings)
    else checkValue(value, 1, modifiers, isDeep ? modifiers : NO_NAMES)
    checkHidden(name, operator, path, value, settings.hidden)
  }
}

/** `{ $rename: { from: 'to' } }` writes the field `to`, which is a path like any other. */
function checkTarget(name: string, target: unknown, settings: MongoDBSettings): void {
  if (typeof target !== 'string' || target === '') {
    throw new BadRequest(`The operator ${name} takes the names of fields`)
  }
  checkPath(name, target, settings)
  if (relate(target, settings.hidden) !== 'apart') refuseHidden(name, target)
}

function checkPath(name: string, path: string, settings: MongoDBSettings): void {
  if (['_id', settings.id].some((id) => path === id || path.startsWith(`${id}.`))) {
    throw new BadRequest(`The operator ${name} must not change the id`)
  }
  if (!settings.updateOperators.includes(path)) checkName(path)
}

/**
 * A hidden field can be written by its plain name, `{ password }`, but by no operator: what the
 * operator makes of the field could reveal its value.
 */
function checkHidden(
  name: string,
  { reads }: UpdateOperator,
  path: string,
  value: unknown,
  hidden: readonly string[],
): void {
  const relation = relate(path, hidden)
  if (relation === 'apart') return
  // A list that is put in order by its items tells which one was the greater.
  const isSorted = isPlainObject(value) && Object.hasOwn(value, '$sort')
  if (relation === 'inside' || reads === 'all' || isSorted) refuseHidden(name, path)
  if (reads === 'conditions') checkHiddenConditions(value, path, hidden)
}

function refuseHidden(name: string, path: string): never {
  throw new BadRequest(`The field '${path}' can not be changed by ${name}`)
}
