import type { EventBus } from '../../core/events/event-bus.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { BUS_RULE } from '../shared-bus.ts'

/** Options of `realtime()`. */
export interface RealtimeOptions {
  /** How many events per service are kept for clients that reconnect. Default: 1,000. */
  readonly bufferEvents?: number
  /** How long an event is kept for them, in milliseconds. Default: 120,000. */
  readonly bufferMs?: number
  /** How often a stream without events sends a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /**
   * How often the hooks of `find` run again for an open stream, in milliseconds. A caller keeps a revoked right for at
   * most this long. Default: 60,000.
   */
  readonly recheckMs?: number
  /** How many bytes may wait for a slow reader before the stream is cut off. Default: 262,144. */
  readonly maxWaitingBytes?: number
  /** The maximum number of records sent on one stream. Default: 10,000. */
  readonly maxRecords?: number
  /**
   * The maximum number of conditions in the query of a stream; more return 400. Each value of an `$all` counts, those of
   * an `$in` count as one. Default: 50.
   */
  readonly maxConditions?: number
  /**
   * How many bytes of changed records are compared with the query of one stream at once, counted once per condition on
   * their field. Beyond that, the stream gets a new snapshot. Default: 1,048,576.
   */
  readonly maxComparedBytes?: number
  /**
   * How many bytes of changed records are read for streams at once, when clients reconnect or after a write of many
   * records. Streams that need more get a new snapshot. Default: 4,194,304.
   */
  readonly maxReplayBytes?: number
  /** The maximum number of streams of the process; more return 503. Default: 10,000. */
  readonly maxStreams?: number
  /**
   * The maximum number of streams per user or, without a login, per network (an IPv4 address, or an IPv6 /64); more
   * return 429. Default: 100.
   */
  readonly maxStreamsPerCaller?: number
  /** The maximum number of streams on one connection of a client; more return 400. Default: 100. */
  readonly maxSubscriptions?: number
  /**
   * The path, after the prefix of the services, to which clients send a list of subscriptions that share one
   * connection. Default: `/live-queries`.
   */
  readonly path?: string
  /** Carries events between processes: `mongoEvents()`. Default: `null`, only events of this process. */
  readonly bus?: EventBus | null
}

/** The options with their defaults. */
export type ResolvedRealtimeOptions = Required<RealtimeOptions>

/** The path of the option `path`. */
const PATH: OptionRule = {
  expected: "a path of letters, digits, '_' and '-', that begins with a slash",
  isValid: (value) => {
    if (typeof value !== 'string' || !value.startsWith('/')) return false
    return value
      .slice(1)
      .split('/')
      .every((segment) => /^[\w-]+$/.test(segment))
  },
}

const RULES: OptionRules & Record<keyof RealtimeOptions, OptionRule> = {
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
  path: PATH,
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
 * @throws {TypeError} an option is unknown or invalid
 */
export function resolveRealtimeOptions(options: RealtimeOptions): ResolvedRealtimeOptions {
  checkOptions('realtime()', options, RULES)
  return withDefaults(DEFAULTS, options)
}
