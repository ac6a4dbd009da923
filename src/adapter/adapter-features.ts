import type { StreamableService } from '../core/services/record-stream.ts'
import type { CallFeature, FindMethods } from './call-feature.ts'
import { CALL_FEATURES } from './call-feature.ts'
import { PAGES } from './pages/keyset-page.ts'
import type { FollowedMembers } from './realtime/record-view.ts'
import { FOLLOWING } from './realtime/record-view.ts'
import { STREAMS } from './streams/record-stream.ts'
import type { VersionMembers } from './versions/record-versions.ts'
import { VERSIONS } from './versions/record-versions.ts'

/** All features of services on collections. To delete one, remove its folder and its entry here. */
export const FEATURES: readonly CallFeature[] = [VERSIONS, PAGES, FOLLOWING, STREAMS]

interface FeatureMembers extends FollowedMembers, StreamableService, VersionMembers {}

/** Types the members of features: {@link addFeatures} sets them on the prototype of `CheckedService`. */
export const FeaturedService = class {} as new () => FeatureMembers

/** Gives the members of all features to a class of services, by its prototype. */
export function addFeatures(prototype: FindMethods): void {
  Object.defineProperty(prototype, CALL_FEATURES, { value: FEATURES })
  for (const { createMembers } of FEATURES) {
    const members = createMembers?.(prototype) ?? {}
    for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
      Object.defineProperty(prototype, name, { ...member, enumerable: false })
    }
  }
}
