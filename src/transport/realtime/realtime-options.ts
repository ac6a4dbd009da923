import type { EventBus } from '../../core/events/event-bus.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { BUS_RULE } from '../shared-bus.ts'

/** Options of `realtime()`. */
export interface RealtimeOptions {
  /** How many events of each service are kept for clients that come back. Default: 1,000. */
  readonly bufferEvents?: number
  /** How long an event is kept for them, in milliseconds. Default: 120,000. */
  readonly bufferMs?: number
  /** How often a stream without events is sent a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /**
   * How often the hooks of `find` run anew for an open stream, in milliseconds: for so long at most a
   * caller keeps a right that was withdrawn. Default: 60,000.
   */
  readonly recheckMs?: number
  /** How many bytes may wait for a slow reader before the stream is cut off. Default: 262,144. */
  readonly maxWaitingBytes?: number
  /** How many records one stream may have been sent. Default: 10,000. */
  readonly maxRecords?: number
  /** How many conditions the query of a stream may have; a further one returns 400. Default: 50. */
  readonly maxConditions?: number
  /**
   * How many bytes of changed records are compared with the query of one stream at once, counted once for each
   * condition on their field. Beyond that, the stream gets a new snapshot. Default: 1,048,576.
   */
  readonly maxComparedBytes?: number
  /**
   * How many bytes of changed records are read for streams at once, when clients reconnect or after a write of many
   * records. Streams that lack more get a new snapshot. Default: 4,194,304.
   */
  readonly maxReplayBytes?: number
  /** How many streams the process has at most: one more is answered 503. Default: 10,000. */
  readonly maxStreams?: number
  /**
   * How many streams one user has at most or, without a login, one network (an IPv4 address, or an IPv6 /64):
   * a further one returns 429. Default: 100.
   */
  readonly maxStreamsPerCaller?: number
  /** How many streams a client may have on one connection: a request for more returns 400. Default: 100. */
  readonly maxSubscriptions?: number
  /**
   * The path, behind the prefix of the services, that clients send a list of their subscriptions to, for a connection that
   * all of them share. Default: `/live-queries`.
   */
  readonly path?: string
  /** Carries events between processes: `mongoEvents()`. Default: `null`, events of this process alone. */
  readonly bus?: EventBus | null
}

/** The options with their defaults. */
export type ResolvedRealtimeOptions = Required<RealtimeOptions>

const RULES: OptionRules & Record<keyof RealtimeOptions, unknown> = {
  bufferEvents: OPTION.count,
  bufferMs: OPTION.limit,
  heartbeatMs: OPTION.positiveInteger,
  recheckMs: OPTION.positiveInteger,
  maxWaitingBytes: OPTION.positiveInteger,
  maxRecords: OPTION.positiveInteger,
  maxConditions: OPTION.limit,
  maxComparedBytes: OPTION.positiveInteger,
  maxReplayBytes: OPTION.positiveInteger,
  maxStreams: OPTION.limit,
  maxStreamsPerCaller: OPTION.limit,
  maxSubscriptions: OPTION.positiveInteger,
  path: {
    expected: "a path of letters, digits, '_' and '-', that begins with a slash",
    isValid: (value: unknown) => {
      if (typeof value !== 'string' || !value.startsWith('/')) return false
      return value
        .slice(1)
        .split('/')
        .every((segment) => /^[\w-]+$/.test(segment))
    },
  },
  bus: BUS_RULE,
}

const DEFAULTS: ResolvedRealtimeOptions = {
  bufferEvents: 1_000,
  bufferMs: 120_000,
  heartbeatMs: 15_000,
  recheckMs: 60_000,
  maxWaitingBytes: 262_144,
  maxRecords: 10_000,
  maxConditions: 50,
  maxComparedBytes: 1_048_576,
  maxReplayBytes: 4_194_304,
  maxStreams: 10_000,
  maxStreamsPerCaller: 100,
  maxSubscriptions: 100,
  path: '/live-queries',
  bus: null,
}

/**
 * Returns the options with their defaults.
 * @throws {TypeError} an option that is not known, or a value that it can't have
 */
export function resolveRealtimeOptions(options: RealtimeOptions): ResolvedRealtimeOptions {
  checkOptions('realtime()', options, RULES)
  return withDefaults(DEFAULTS, options)
}
