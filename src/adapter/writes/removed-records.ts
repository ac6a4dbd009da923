import type { Document } from 'mongodb'
import { addNotes } from '../../core/external-form.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { takeStep } from '../adapter-call.ts'
import { omitFields, showFields } from '../queries/select.ts'

/**
 * Resolves to one or many removed records with the fields of a call. Where a rule has it noted how they were stored,
 * they are read whole, unless the call has a projection or a pipeline: that says what is read.
 * @param remove resolves to the records, with the fields of the call that it gets
 * @param mark the fields by which records are marked in place of being removed
 */
export async function removeNoting<Removed extends Document | Document[]>(
  call: AdapterCall,
  remove: (call: AdapterCall) => Promise<Removed>,
  mark: Document = {},
): Promise<Removed> {
  const { rules, driver, pipeline, query } = call
  const isNoted = rules.some((rule) => rule.notesRemoved)
  if (!isNoted || driver.projection !== undefined || pipeline !== null) return remove(call)
  const removed = await remove({ ...call, hidden: [], query: { ...query, select: undefined } })
  const show = (record: Document): Document => showRemoved(call, record, mark)
  return (Array.isArray(removed) ? removed.map(show) : show(removed)) as Removed
}

/** Returns a removed record with the fields of a call, and notes how it was stored before. */
function showRemoved(call: AdapterCall, record: Document, mark: Document): Document {
  const { settings, query, hidden } = call
  const marked = Object.keys(mark)
  const before = omitFields(record, marked)
  const stored = marked.length === 0 ? before : takeStep(call, 'unmark', before)
  const shown = showFields(record, { select: query.select, hidden, id: settings.id })
  addNotes(shown, { stored })
  return shown
}
