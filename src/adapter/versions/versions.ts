import { BadRequest } from '../../core/errors/index.ts'
import type { RecordVersions } from '../../core/services/record-version.ts'
import {
  answersRecord,
  createRequiredError,
  findVersionTag,
} from '../../core/services/record-version.ts'
import type { CalledService, CallFeature } from '../call-feature.ts'
import { ExpectationRule, VersionRule } from './version-rule.ts'

/** Versions of records: each write raises them, and may expect one. */
export const VERSIONS: CallFeature = {
  askedBy: { option: 'version', param: 'version' },
  createRule(asked) {
    const { version } = asked.settings
    return version === undefined ? new ExpectationRule(asked) : new VersionRule(asked, version)
  },
  checkChange({ settings }, params, data) {
    if (params.headers?.['if-none-match'] !== undefined) {
      throw new BadRequest('If-None-Match is for reads: name the version by If-Match')
    }
    const { requireVersion, version } = settings
    if (!requireVersion || version === undefined || params.version !== undefined) return
    if (data[version] === undefined) throw createRequiredError()
  },
  createMembers: () => VERSION_MEMBERS,
  describeAnswer: (service, method, result) =>
    answersRecord(method, result) ? { etag: findVersionTag(service, result) } : {},
}

/** What transports and OpenAPI read of a service. */
export interface VersionMembers {
  /** How records are versioned, `null` for not at all. */
  readonly recordVersions: RecordVersions | null
}

const VERSION_MEMBERS: VersionMembers & ThisType<CalledService> = {
  get recordVersions() {
    const { version: field, requireVersion: isRequired } = this.options
    return field === undefined ? null : { field, isRequired }
  },
}
