import type { FollowableService } from '../../core/services/record-view.ts'
import { isPromise } from '../../core/value-kind.ts'
import { callAdapter } from '../call-adapter.ts'
import { checkFind, sanitizeParams } from '../call-checks.ts'
import type { CalledService, CallFeature, FindMethods } from '../call-feature.ts'
import { openModel } from '../connection/model.ts'
import { relate } from '../field-path.ts'
import { omitFields } from '../queries/select.ts'
import { resolveCallSettings } from '../resolve-options.ts'
import { createRecordView } from './record-view.ts'

/** Live queries: what they show, and how removed records were stored while somebody follows them. */
export const FOLLOWING: CallFeature = {
  askedBy: { member: 'isFollowed' },
  createRule: () => ({ notesRemoved: true }),
  createMembers: createFollowedMembers,
}

/** What a service on a collection has for those who follow its records. */
export interface FollowedMembers extends Omit<FollowableService, 'id'> {
  /** Whether `watchCollection()` sees the changes of the collection. */
  isWatched: boolean
  hideFields(record: object): object
}

function createFollowedMembers(
  own: FindMethods,
): FollowedMembers & ThisType<CalledService & FindMethods> {
  return {
    isFollowed: false,
    isWatched: false,
    /**
     * Resolves to what `find` shows with these params, for streams of its records.
     * @throws {BadRequest} the query, or an option of the call, can't be judged outside of the database
     * @throws {MethodNotAllowed} a subclass has a `find` of its own, of which nobody knows what it shows
     */
    async followRecords(params) {
      checkFind(this, own)
      const checked = sanitizeParams(params, this)
      const { hidden } = this.options
      return callAdapter('read', this, checked, (call) => createRecordView(call, checked, hidden))
    },
    hideFields(record) {
      const { hidden } = this.options
      const isShown = (name: string): boolean => relate(name, hidden) === 'apart'
      return Object.keys(record).every(isShown) ? record : omitFields(record, hidden)
    },
    /** Returns the namespace of the collection of a call, `'database.collection'`. */
    locateRecords(params) {
      const collection = openModel(resolveCallSettings(this.options, params).Model)
      return isPromise(collection)
        ? collection.then(({ namespace }) => namespace)
        : collection.namespace
    },
  }
}
