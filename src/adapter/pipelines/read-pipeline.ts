import { isPlainObject } from '../../core/value-kind.ts'
import type { PipelineStage } from '../driver-options.ts'
import { FIRST_ONLY, MARKERS, WRITING } from './stage-kinds.ts'

/** The stages of `params.pipeline`, around those that a query becomes. */
export interface Pipeline {
  readonly before: readonly PipelineStage[]
  readonly after: readonly PipelineStage[]
}

/** No stages but those of the query. */
export const NO_STAGES: Pipeline = { before: [], after: [] }

/**
 * Returns the stages of `params.pipeline`; `null` when there are none, and a query is all.
 * @throws {TypeError} no list of stages, more than one marker, a stage behind others that has to be the
 *   first, or a condition that is `undefined`
 */
export function readPipeline(value: unknown): Pipeline | null {
  if (value === undefined) return null
  if (!Array.isArray(value)) throw new TypeError('params.pipeline must be a list of stages')
  if (value.length === 0) return null
  for (const stage of value) checkStage(stage)
  checkPlaces(value)
  const places = value.flatMap((stage, index) => (MARKERS.has(toStageName(stage)) ? [index] : []))
  const [place, another] = places
  if (another !== undefined) {
    throw new TypeError(`params.pipeline has more than one ${toStageName(value[another])}`)
  }
  if (place === undefined) return { before: [], after: value }
  return { before: value.slice(0, place), after: value.slice(place + 1) }
}

/** Returns all stages of a pipeline but the marker. */
export function toStageList({ before, after }: Pipeline): readonly PipelineStage[] {
  return [...before, ...after]
}

/** Returns the first stage that writes to a collection. */
export function findWriting(pipeline: Pipeline): PipelineStage | undefined {
  return toStageList(pipeline).find((stage) => WRITING.has(toStageName(stage)))
}

/** Returns what a stage does: `'$match'`. */
export function toStageName(stage: object): string {
  return Object.keys(stage)[0] ?? ''
}

/**
 * @throws {TypeError} a stage writes to a collection, which only `aggregateRaw` inside may do; names
 *   the stage
 */
export function checkReadOnly(pipeline: Pipeline): void {
  const stage = findWriting(pipeline)
  if (stage === undefined) return
  throw new TypeError(`params.pipeline must only read: ${toStageName(stage)} is not allowed`)
}

/** An unmarked pipeline comes behind the `$match` of the query. */
function checkPlaces(stages: readonly object[]): void {
  const names = stages.map(toStageName)
  const isMarked = names.some((name) => MARKERS.has(name))
  const misplaced = (isMarked ? names.slice(1) : names).find((name) => FIRST_ONLY.has(name))
  if (misplaced === undefined) return
  throw new TypeError(
    `params.pipeline: ${misplaced} must be the first stage, with { $framework: {} } behind it`,
  )
}

function checkStage(stage: unknown): void {
  const names = isPlainObject(stage) ? Object.keys(stage) : []
  const [name = ''] = names
  if (!isPlainObject(stage) || names.length !== 1 || !name.startsWith('$')) {
    throw new TypeError('params.pipeline must be a list of stages, each an object with one $name')
  }
  if (MARKERS.has(name) && !isMark(stage[name])) {
    throw new TypeError(`params.pipeline: ${name} marks a place and must be {}`)
  }
  checkDefined(stage[name], name, name)
}

function isMark(value: unknown): boolean {
  return value === true || (isPlainObject(value) && Object.keys(value).length === 0)
}

/** The driver sends `undefined` as `null`, or not at all: then `{ tenant: undefined }` is all tenants. */
function checkDefined(value: unknown, name: string, stage: string): void {
  if (value === undefined) {
    throw new TypeError(`params.pipeline has no value for ${name} in ${stage}`)
  }
  if (Array.isArray(value)) for (const item of value) checkDefined(item, name, stage)
  else if (isPlainObject(value)) {
    for (const [key, inner] of Object.entries(value)) checkDefined(inner, key, stage)
  }
}
