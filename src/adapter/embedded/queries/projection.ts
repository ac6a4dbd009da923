import type { Document } from 'bson'
import { isDocument, isNumeric } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { isTrue } from '../../matching/compare.ts'
import { setField, startsWithOperator, withField } from '../../matching/field-paths.ts'
import type { CompileExpression } from '../../matching/filter.ts'
import { readPath } from '../protocol/read-fields.ts'
import type { TextScore } from './text-query.ts'
import { readTextScore } from './text-query.ts'

/** Returns the projection of a document, with which it shares unchanged parts. */
export type Projector = (document: Document) => Document

/** What compiling a projection needs. */
export interface ProjectionOptions {
  readonly compileExpression: CompileExpression
  /** Set by `find` and `findAndModify`, which allow `$meta`. */
  readonly find?: { readonly textScore?: TextScore }
}

/** What happens to a field: it is kept, dropped or computed, or its own fields have rules. */
type Rule = 'keep' | 'drop' | 'compute' | Rules
type Rules = Map<string, Rule>
interface Computed {
  readonly parts: readonly string[]
  readonly evaluate: (document: Document) => unknown
}

/** Returns a projection as a function. @throws {CommandError} the projection is not valid */
export function compileProjection(spec: unknown, options: ProjectionOptions): Projector {
  if (!isDocument(spec)) throw new CommandError(14, 'A projection must be an object')
  const rules: Rules = new Map()
  const computed: Computed[] = []
  let mode: 'keep' | 'drop' | undefined
  for (const [name, value] of flatten(spec)) {
    const rule = toRule(value, options)
    const wanted = isMeta(value, options) ? undefined : rule === 'drop' ? 'drop' : 'keep'
    // The id may be included or excluded in either kind of projection.
    if ((name !== '_id' || rule === undefined) && wanted !== undefined) {
      if (mode !== undefined && mode !== wanted) throw mixed(name, rule, value)
      mode = wanted
    }
    if (rule === undefined) {
      const evaluate = isMeta(value, options)
        ? readTextScore(value, options.find?.textScore)
        : options.compileExpression(value)
      computed.push({ parts: name.split('.'), evaluate })
    }
    addRule(rules, name, rule ?? 'compute')
  }
  const keeps = (mode ?? (rules.get('_id') === 'keep' ? 'keep' : 'drop')) === 'keep'
  if (keeps && !rules.has('_id')) rules.set('_id', 'keep')
  return (document) => {
    const kept = applyRules(document, rules, keeps, document)
    return setComputed(kept, computed, document)
  }
}

/** Returns a `$addFields` specification as a function. */
export function compileAddFields(spec: unknown, compileExpression: CompileExpression): Projector {
  if (!isDocument(spec)) throw new CommandError(40272, '$addFields specification must be an object')
  const rules: Rules = new Map()
  const fields = flatten(spec, true).map(([path, expression]) => {
    addRule(rules, path, 'compute', 40176)
    return { parts: path.split('.'), evaluate: compileExpression(expression) }
  })
  return (document) => setComputed(document, fields, document)
}

function setComputed(target: Document, fields: readonly Computed[], document: Document): Document {
  return fields.reduce<unknown>(
    (result, { parts, evaluate }) => withField(result, parts, evaluate(document)),
    target,
  ) as Document
}

/** Returns the fields of a specification by dotted path; nested documents are flattened. */
function flatten(spec: Document, isAdding = false, prefix = ''): [string, unknown][] {
  return Object.entries(spec).flatMap(([name, value]): [string, unknown][] => {
    const path = `${prefix}${name}`
    if (path.split('.').includes('$')) {
      throw notSupported(`The positional projection '${path}'`, 16410)
    }
    if (isAdding && prefix !== '' && name.includes('.')) {
      throw new CommandError(40183, `cannot use dotted field name '${name}' in a sub object`)
    }
    readPath('a projection', path)
    if (!isDocument(value) || startsWithOperator(value)) return [[path, value]]
    const inner = flatten(value, isAdding, `${path}.`)
    if (inner.length > 0) return inner
    if (isAdding) return [[path, value]]
    throw new CommandError(51270, 'An empty sub-projection is not a valid value')
  })
}

/** Returns the rule of a field, `undefined` if its value is an expression. */
function toRule(value: unknown, { find }: ProjectionOptions): 'keep' | 'drop' | undefined {
  if (typeof value === 'boolean' || isNumeric(value)) return isTrue(value) ? 'keep' : 'drop'
  // With other operands it is the aggregation operator of the same name.
  const operand: unknown = isDocument(value) ? value.$slice : undefined
  if (find !== undefined && [operand].flat().every((one) => typeof one === 'number')) {
    throw notSupported('The projection $slice')
  }
  return undefined
}

/** A score is added to either kind of projection. */
function isMeta(value: unknown, { find }: ProjectionOptions): value is Document {
  return find !== undefined && isDocument(value) && '$meta' in value
}

function mixed(name: string, rule: 'keep' | 'drop' | undefined, value: unknown): CommandError {
  if (rule === 'drop') {
    return new CommandError(31254, `Cannot do exclusion on field ${name} in inclusion projection`)
  }
  const message = `Cannot do inclusion on field ${name} in exclusion projection`
  return new CommandError(rule === 'keep' ? 31253 : isDocument(value) ? 31252 : 31310, message)
}

function addRule(rules: Rules, path: string, rule: Rule, code?: number): void {
  const parts = path.split('.')
  const last = parts.pop() ?? ''
  let level = rules
  for (const part of parts) {
    const next = level.get(part) ?? new Map<string, Rule>()
    if (!(next instanceof Map)) throw new CommandError(code ?? 31249, `Path collision at ${path}`)
    level.set(part, next)
    level = next
  }
  if (level.has(last)) throw new CommandError(code ?? 31250, `Path collision at ${path}`)
  level.set(last, rule)
}

function applyRules(source: Document, rules: Rules, keeps: boolean, document: Document): Document {
  const result: Document = {}
  const names = Object.keys(source)
  // The id comes first, wherever earlier stages put it.
  if (source === document && names.includes('_id')) names.unshift('_id')
  for (const name of new Set(names)) {
    const rule = rules.get(name) ?? (keeps ? 'drop' : 'keep')
    const value = applyRule(source[name], rule, keeps, document)
    if (value !== undefined) setField(result, name, value)
  }
  return result
}

function applyRule(value: unknown, rule: Rule, keeps: boolean, document: Document): unknown {
  if (rule === 'keep') return value
  if (rule === 'drop' || rule === 'compute') return undefined
  if (isDocument(value)) return applyRules(value, rule, keeps, document)
  if (!Array.isArray(value)) return keeps ? (isComputed(rule) ? {} : undefined) : value
  return value
    .map((item) => applyRule(item, rule, keeps, document))
    .filter((item) => item !== undefined)
}

/** Returns whether a field below is computed: then a document replaces any other value. */
function isComputed(rule: Rule): boolean {
  return rule instanceof Map ? [...rule.values()].some(isComputed) : rule === 'compute'
}
