/** Stages that mark where the stages of a call's own query belong: ours, and that of Feathers. */
export const MARKERS: ReadonlySet<string> = new Set(['$framework', '$feathers'])

/** Stages that write. */
export const WRITING: ReadonlySet<string> = new Set(['$out', '$merge'])

/** Stages that the server takes only as the first one. */
export const FIRST_ONLY: ReadonlySet<string> = new Set([
  ...['$search', '$searchMeta', '$vectorSearch', '$geoNear', '$documents'],
])

/** Stages that set fields of each record, the `_id` too where they name it. */
export const SETS_FIELDS: ReadonlySet<string> = new Set([
  ...['$addFields', '$set', '$project', '$lookup', '$graphLookup', '$fill', '$setWindowFields'],
  '$unwind',
])

/** Stages that leave out records by their number, whichever these are. */
export const COUNTING_OUT: ReadonlySet<string> = new Set(['$skip', '$sample'])

/** Stages after which each record is still there, once, with its `_id`. */
const ADDING: readonly string[] = [
  ...['$addFields', '$set', '$unset', '$project', '$lookup', '$graphLookup', '$sort', '$fill'],
  '$setWindowFields',
]

/** Stages after which each record is still there, once, whatever has become of it. */
export const KEEPS_RECORDS: ReadonlySet<string> = new Set([
  ...[...ADDING, '$replaceRoot', '$replaceWith'],
])

/** Stages after which an `_id` is still that of a record of the collection. */
export const KEEPS_IDS: ReadonlySet<string> = new Set([
  ...[...ADDING, '$match', '$limit', '$skip', '$sample', '$unwind', '$redact', '$geoNear'],
  ...['$search', '$vectorSearch'],
])
