import { isObject } from '../../core/value-kind.ts'
import type { Operation, PipelineStage } from '../driver-options.ts'
import type { StagedCall } from './framework-stages.ts'
import { absorbMatches } from './leading-matches.ts'
import type { Pipeline } from './read-pipeline.ts'
import { checkReadOnly, NO_STAGES, toStageList, toStageName } from './read-pipeline.ts'
import { KEEPS_IDS, KEEPS_RECORDS, SETS_FIELDS } from './stage-kinds.ts'

const OF_MANY: ReadonlySet<Operation> = new Set(['patch of many', 'remove of many'])

/** Nothing but the pipeline: no command of ours depends on what it does. */
const RAW: ReadonlySet<Operation> = new Set(['aggregate', 'aggregate into a collection'])

/**
 * Checks that an operation can be done with a pipeline.
 * @throws {TypeError} a stage writes, hides which records of the collection would be changed, or could
 *   leave out the one that an upsert is about; names the stage
 */
export function checkPipelineUse(operation: Operation, call: StagedCall): void {
  const { pipeline, driver } = call
  if (pipeline === null || RAW.has(operation)) return
  if (operation === 'cursor') {
    throw new TypeError('findRaw takes no params.pipeline: aggregateRaw does')
  }
  checkReadOnly(pipeline)
  if (driver.upsert) checkUpsertStages(absorbMatches(call).pipeline ?? NO_STAGES)
  if (findSelecting(pipeline) === undefined) return
  const odd = toStageList(pipeline).find(
    (stage) => !KEEPS_IDS.has(toStageName(stage)) || setsId(stage),
  )
  if (odd === undefined || !OF_MANY.has(operation)) return
  throw new TypeError(
    `A pipeline with ${toStageName(odd)} does not tell which records to ${operation.split(' ')[0]}`,
  )
}

function checkUpsertStages(pipeline: Pipeline): void {
  const selecting = findSelecting(pipeline)
  if (selecting === undefined) return
  throw new TypeError(
    `params.docdb.upsert can not go with ${toStageName(selecting)} in params.pipeline, unless it is a $match of stored records`,
  )
}

/** Returns the first stage that may leave out a record, or return it more than once. */
export function findSelecting(pipeline: Pipeline): PipelineStage | undefined {
  return toStageList(pipeline).find((stage) => !KEEPS_RECORDS.has(toStageName(stage)))
}

/** Whether a stage leaves another `_id` in a record than that by which it is found. */
function setsId(stage: PipelineStage): boolean {
  const name = toStageName(stage)
  const { [name]: spec } = stage as Readonly<Record<string, unknown>>
  if (name === '$unset') return [spec].flat().some(isOfId)
  if (!isObject(spec) || !SETS_FIELDS.has(name)) return false
  const { as, includeArrayIndex, output } = spec
  if (isOfId(as) || isOfId(includeArrayIndex)) return true
  if (isObject(output)) return Object.keys(output).some(isOfId)
  return Object.entries(spec).some(([field, value]) => isOfId(field) && !isKept(name, value))
}

function isKept(name: string, value: unknown): boolean {
  return name === '$project' && (value === 1 || value === true)
}

function isOfId(path: unknown): boolean {
  return path === '_id' || (typeof path === 'string' && path.startsWith('_id.'))
}
