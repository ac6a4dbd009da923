import type { EventBus } from '../../core/events/event-bus.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'

/** Options of `realtime()`. */
export interface RealtimeOptions {
  /** How many events of each service a client that comes back can make up for. Default: 1,000. */
  readonly bufferEvents?: number
  /** For how long it can, in milliseconds. Default: 120,000. */
  readonly bufferMs?: number
  /** How often a stream without events has a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /**
   * How often it is looked up anew what a caller may read, in milliseconds: as long at most a right that
   * is withdrawn goes on. Default: 60,000.
   */
  readonly recheckMs?: number
  /** How many bytes may wait for a slow reader before the stream is cut off. Default: 262,144. */
  readonly maxWaitingBytes?: number
  /** How many records one stream may follow. Default: 10,000. */
  readonly maxRecords?: number
  /** How many streams the process has at most: 503 beyond. Default: 10,000. */
  readonly maxStreams?: number
  /** How many of them one login or, without one, one address has at most: 429. Default: 100. */
  readonly maxStreamsPerCaller?: number
  /** Carries the events of several processes: `mongoEvents()`. Default: those of this one alone. */
  readonly bus?: EventBus | null
}

/** The options with their defaults. */
export type ResolvedRealtimeOptions = Required<RealtimeOptions>

const POSITIVE = {
  expected: 'a whole number from 1 on',
  isValid: (value: unknown) => OPTION.count.isValid(value) && Number(value) > 0,
}

const RULES: OptionRules & Record<keyof RealtimeOptions, unknown> = {
  bufferEvents: OPTION.count,
  bufferMs: OPTION.limit,
  heartbeatMs: POSITIVE,
  recheckMs: POSITIVE,
  maxWaitingBytes: POSITIVE,
  maxRecords: POSITIVE,
  maxStreams: OPTION.limit,
  maxStreamsPerCaller: OPTION.limit,
  bus: {
    expected: 'an EventBus, as mongoEvents() returns it',
    isValid: (value: unknown) => value === null || (isObject(value) && hasMethod(value, 'publish')),
  },
}

const DEFAULTS: ResolvedRealtimeOptions = {
  bufferEvents: 1_000,
  bufferMs: 120_000,
  heartbeatMs: 15_000,
  recheckMs: 60_000,
  maxWaitingBytes: 262_144,
  maxRecords: 10_000,
  maxStreams: 10_000,
  maxStreamsPerCaller: 100,
  bus: null,
}

/** @throws {TypeError} an option that is not known, or a value that it can't have */
export function resolveRealtimeOptions(options: RealtimeOptions): ResolvedRealtimeOptions {
  checkOptions('realtime()', options, RULES)
  return withDefaults(DEFAULTS, options)
}
