import type { Document } from 'mongodb'
import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import { withHint } from '../../core/errors/hint.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { PipelineStage } from '../mongodb-params.ts'
import type { SplitQuery } from '../queries/split-query.ts'

/** Markers for the place of the query's own stages: ours, and that of Feathers. */
const MARKERS: ReadonlySet<string> = new Set(['$framework', '$feathers'])

/** Stages that write. */
const WRITING: ReadonlySet<string> = new Set(['$out', '$merge'])

/** Stages that the server accepts only as the first one. */
export const FIRST_ONLY: ReadonlySet<string> = new Set([
  ...['$search', '$searchMeta', '$vectorSearch', '$geoNear', '$documents'],
])

/** The stages of `params.pipeline`, before and after those of the query. */
export interface Pipeline {
  readonly before: readonly PipelineStage[]
  readonly after: readonly PipelineStage[]
}

/** No stages but those of the query. */
export const NO_STAGES: Pipeline = { before: [], after: [] }

/**
 * Returns the stages of `params.pipeline`, `null` without a pipeline.
 * @throws {TypeError} it is not a list of stages, or has more than one marker, a condition that is `undefined`,
 *   or a stage that comes too late because it must be the first
 */
export function readPipeline(value: unknown): Pipeline | null {
  if (value === undefined) return null
  if (!Array.isArray(value)) throw new ArgumentError('params.pipeline must be a list of stages')
  if (value.length === 0) return null
  for (const stage of value) checkStage(stage)
  checkPlaces(value)
  const places = value.flatMap((stage, index) => (MARKERS.has(getStageName(stage)) ? [index] : []))
  const [place, another] = places
  if (another !== undefined) {
    throw new ArgumentError(`params.pipeline has more than one ${getStageName(value[another])}`)
  }
  if (place === undefined) return { before: [], after: value }
  return { before: value.slice(0, place), after: value.slice(place + 1) }
}

/** Returns all stages of a pipeline but the marker. */
export function listStages({ before, after }: Pipeline): readonly PipelineStage[] {
  return [...before, ...after]
}

/** Returns the first stage that writes to a collection. */
export function findWriting(pipeline: Pipeline): PipelineStage | undefined {
  return listStages(pipeline).find((stage) => WRITING.has(getStageName(stage)))
}

/** Returns what a stage does: `'$match'`. */
export function getStageName(stage: object): string {
  return Object.keys(stage)[0] ?? ''
}

/**
 * @throws {TypeError} a stage writes to a collection, which only an internal `aggregateRaw` may do; names the
 *   stage
 */
export function checkReadOnly(pipeline: Pipeline): void {
  const stage = findWriting(pipeline)
  if (stage === undefined) return
  throw new ArgumentError(`params.pipeline must only read: ${getStageName(stage)} is not allowed`)
}

/** A pipeline without a marker comes after the `$match` of the query. */
function checkPlaces(stages: readonly object[]): void {
  const names = stages.map(getStageName)
  const isMarked = names.some((name) => MARKERS.has(name))
  const misplaced = (isMarked ? names.slice(1) : names).find((name) => FIRST_ONLY.has(name))
  if (misplaced === undefined) return
  throw new ArgumentError(
    `params.pipeline: ${misplaced} must be the first stage, with { $framework: {} } behind it`,
  )
}

function checkStage(stage: unknown): void {
  const names = isPlainObject(stage) ? Object.keys(stage) : []
  const [name = ''] = names
  if (!isPlainObject(stage) || names.length !== 1 || !name.startsWith('$')) {
    throw new ArgumentError(
      'params.pipeline must be a list of stages, each an object with one $name',
    )
  }
  const mark = stage[name]
  const isMark = mark === true || (isPlainObject(mark) && Object.keys(mark).length === 0)
  if (MARKERS.has(name) && !isMark) {
    throw new ArgumentError(`params.pipeline: ${name} marks a place and must be {}`)
  }
  checkDefined(mark, name, name)
}

/** The driver sends `undefined` as `null`, or not at all: `{ tenant: undefined }` could match all tenants. */
function checkDefined(value: unknown, name: string, stage: string): void {
  if (value === undefined) {
    throw new ArgumentError(`params.pipeline has no value for ${name} in ${stage}`)
  }
  if (Array.isArray(value)) for (const item of value) checkDefined(item, name, stage)
  else if (isPlainObject(value)) {
    for (const [key, inner] of Object.entries(value)) checkDefined(inner, key, stage)
  }
}

/** The part of a call that becomes its stages. */
interface StageParts {
  readonly query: SplitQuery
  readonly pipeline: Pipeline | null
}

/**
 * Returns a query and a pipeline whose text search is in the first stage, the only place where the server
 * accepts it: conditions of `$match` stages before it are merged into it.
 * @throws {BadRequest} another stage comes before it; only the log names it
 */
export function putTextFirst(parts: StageParts): StageParts {
  const { query, pipeline } = parts
  if (pipeline === null || !Object.hasOwn(query.filter, '$text')) return parts
  const { conditions, rest } = takeMatches(pipeline.before)
  const [other] = rest
  if (other !== undefined) {
    const hint = `it cannot come after ${getStageName(other)} of params.pipeline`
    throw new InvalidQuery('The text search is not possible here', null, withHint(hint))
  }
  if (conditions.length === 0) return parts
  const filter = { $and: [query.filter, ...conditions] }
  return { query: { ...query, filter }, pipeline: { ...pipeline, before: [] } }
}

/** Splits stages into the conditions of the leading `$match` stages and the other stages. */
export function takeMatches(stages: readonly PipelineStage[]): {
  readonly conditions: readonly Document[]
  readonly rest: readonly PipelineStage[]
} {
  const other = stages.findIndex((stage) => !Object.hasOwn(stage, '$match'))
  const end = other === -1 ? stages.length : other
  return {
    conditions: stages.slice(0, end).map((stage) => stage['$match'] as Document),
    rest: stages.slice(end),
  }
}
