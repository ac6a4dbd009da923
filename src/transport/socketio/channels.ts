import { isAuthentication } from '../../auth/default-authentication.ts'
import { describeMethod } from '../../auth/method-description.ts'
import { ArgumentError, OrderError } from '../../core/errors/setup-errors.ts'
import { Emitter } from '../../core/events/emitter.ts'
import { metadataOf } from '../../core/function-metadata.ts'
import type { AnyApplication, MethodEntry, ServiceEntry } from '../../core/index.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'

/** Marks a connection that has ended. A channel that it joined later would keep it forever. */
const HAS_ENDED: unique symbol = Symbol('remex.hasEnded')

/** Whether a connection has ended, so that it cannot join a channel. */
export function hasEnded(connection: object): boolean {
  return HAS_ENDED in connection
}

/** The channels of an application by name: those with connections, and those that were only named. */
type OpenChannels = Map<string, Channel>

/** Connections that get the same events. Emits `empty` when the last one leaves. */
export class Channel extends Emitter {
  /** What its connections get in place of the record; `null` for the record. */
  readonly data: unknown
  /** The channels that it combines, none for a channel with its own connections. */
  readonly children: readonly Channel[]
  readonly #name: string
  readonly #open: OpenChannels
  readonly #joined: Set<object>

  /**
   * @param data what its connections get in place of the record. Default: `null`, the record
   * @param name the channel of an application. Default: a channel without a name
   */
  constructor(
    connections: Iterable<object> = [],
    data: unknown = null,
    children: readonly Channel[] = [],
    name = '',
    open: OpenChannels = new Map(),
  ) {
    super((error) => {
      throw error
    })
    this.data = data
    this.children = children
    this.#name = name
    this.#open = open
    this.#joined = new Set(connections)
  }

  /** The connections, each once, in the order in which they joined. */
  get connections(): object[] {
    return [...new Set(this.#parts.flatMap((part) => [...part.#joined]))]
  }

  /** The number of connections. */
  get length(): number {
    const [part, ...others] = this.#parts
    return part && others.length === 0 ? part.#joined.size : this.connections.length
  }

  /** Adds connections. Ignores those that have ended, and `undefined`: a login over REST has none. */
  join(...connections: readonly Joining[]): this {
    for (const one of connections) {
      if (!one || hasEnded(one)) continue
      for (const part of this.#parts) {
        part.#open.set(part.#name, part)
        part.#joined.add(one)
      }
    }
    return this
  }

  /** Removes connections, or those for which a function returns `true`. */
  leave(...connections: readonly (Joining | ConnectionTest)[]): this {
    for (const part of this.#parts) {
      const joined = part.#joined
      for (const given of connections) {
        const isTest = typeof given === 'function'
        const leaving = isTest ? [...joined].filter(given as ConnectionTest) : [given as object]
        for (const one of leaving) joined.delete(one)
      }
      if (joined.size > 0) continue
      part.#open.delete(part.#name)
      part.emit('empty')
    }
    return this
  }

  /** Returns a channel of the connections for which a function returns `true`. */
  filter(test: ConnectionTest): Channel {
    const children = this.children.map((child) => child.filter(test))
    const own = children.length > 0 ? [] : this.connections.filter(test)
    return new Channel(own, this.data, children)
  }

  /** Returns a channel whose connections get other data than the record. */
  send(data: unknown): Channel {
    return new Channel([], data, [this])
  }

  /** Whether a connection is in the channel. */
  has(connection: object): boolean {
    return this.#parts.some((part) => part.#joined.has(connection))
  }

  /** Returns what a connection gets in place of the record. Of several channels, the first one counts. */
  dataFor(connection: object): unknown {
    if (this.data !== null) return this.data
    return this.children.find((child) => child.has(connection))?.dataFor(connection) ?? null
  }

  /** The channels with the connections. One that is kept in a variable may have been replaced. */
  get #parts(): Channel[] {
    if (this.children.length > 0) return this.children.flatMap((child) => child.#parts)
    return [this.#open.get(this.#name) ?? this]
  }
}

/** Returns whether to choose a connection: `({ user }) => user.role === 'admin'`. */
// biome-ignore lint/suspicious/noExplicitAny: a connection has whatever hooks and listeners set on it
export type ConnectionTest = (connection: any) => unknown

type Joining = object | null | undefined

/**
 * Returns the channels that get an event: one, a list, or a promise of these. `null` and `undefined` stand for none.
 * The context of an event that a service emits itself has only `app`, `path`, `service` and `result`.
 */
// biome-ignore lint/suspicious/noExplicitAny: a record and a {@link HookContext}, which the application types
export type ChannelPublisher = (data: any, context: any) => unknown

/** The members that `socketio()` gives to an application. */
export interface ChannelMembers {
  /** The names of the channels. An empty one is forgotten when its last connection leaves, or an event is published to it. */
  readonly channels: string[]
  /**
   * Returns the channel with a name, or several as one.
   * @throws {TypeError} no name is given
   */
  channel(...names: readonly ChannelName[]): Channel
  /** @internal */ publish(this: never): never
  /** Sets the publisher of services without their own. */
  publish(publisher: ChannelPublisher): this
  /** Sets the publisher of one event of these services. */
  publish(event: string, publisher: ChannelPublisher): this
}

type ChannelName = string | readonly string[]
type Entry = MethodEntry['entry']
type Publishers = Map<string, ChannelPublisher>

/** Applies to all events without their own publisher. */
const ANY_EVENT = '*'

/** The key of a service's publishers in its entry. */
const PUBLISHERS: unique symbol = Symbol('remex.channelPublishers')

/** The channels of an application, and its publishers. */
export class Channels {
  readonly #open: OpenChannels = new Map()
  readonly #ofApp: Publishers = new Map()

  /** @throws {TypeError} the application has channels already */
  constructor(app: AnyApplication) {
    if ('channel' in app) throw new OrderError('socketio(): the application has channels already')
    Object.defineProperties(app, {
      channels: { get: () => [...this.#open.keys()], configurable: true },
      channel: { value: this.#get.bind(this), configurable: true, writable: true },
    })
    addPublish(app, this.#ofApp)
  }

  /** Adds `publish` to a service, replacing that of `realtime()`. A service's own method `publish` is kept. */
  addService({ attachments, options, service }: Entry): void {
    const { publish } = service as { readonly publish?: object }
    if (publish !== undefined && metadataOf(publish).isReplaceable !== true) return
    const publishers: Publishers = new Map()
    attachments.set(PUBLISHERS, publishers)
    addPublish(service, publishers, options.serviceEvents)
  }

  /**
   * Returns the publisher of an event, that of the service first. The application's is not used for services that log in or
   * keep secrets of logins: their records must not reach a channel of all users.
   */
  findPublisher(entry: Entry, event: string): ChannelPublisher | undefined {
    const own = entry.attachments.get(PUBLISHERS) as Publishers | undefined
    const publisher = own?.get(event) ?? own?.get(ANY_EVENT)
    const isOfLogins = (): boolean =>
      isAuthentication(entry.service) ||
      [...entry.methods.keys()].some((name) => describeMethod(entry as ServiceEntry, name))
    if (publisher !== undefined || isOfLogins()) return publisher
    return this.#ofApp.get(event) ?? this.#ofApp.get(ANY_EVENT)
  }

  leaveAll(connection: object): void {
    for (const channel of [...this.#open.values()]) {
      if (channel.has(connection)) channel.leave(connection)
    }
  }

  /** Removes a connection that has ended from all channels. It cannot join again. */
  end(connection: object): void {
    Object.defineProperty(connection, HAS_ENDED, { value: true })
    this.leaveAll(connection)
  }

  #get(...names: readonly ChannelName[]): Channel {
    const open = this.#open
    const [first, ...others] = names
      .flat()
      .map((name) => getOrAdd(open, name, () => new Channel([], null, [], name, open)))
    if (first === undefined) throw new ArgumentError('app.channel needs at least one channel name')
    return others.length === 0 ? first : new Channel([], null, [first, ...others])
  }
}

/**
 * Adds `publish` to an application or a service.
 * @param events the events that may have a publisher. Default: any
 */
function addPublish(owner: object, publishers: Publishers, events?: readonly string[]): void {
  const value = (...given: unknown[]): object => {
    const [event, publisher] = typeof given[0] === 'function' ? [ANY_EVENT, given[0]] : given
    if (typeof event !== 'string' || typeof publisher !== 'function') {
      throw new ArgumentError(
        'publish() takes a function (data, context), or an event and a function',
      )
    }
    if (event !== ANY_EVENT && events?.includes(event) === false) {
      throw new ArgumentError(`'${event}' is not a valid service event`)
    }
    publishers.set(event, publisher as ChannelPublisher)
    return owner
  }
  const property = { value, configurable: true, writable: true }
  Object.defineProperties(owner, { publish: property, registerPublisher: property })
}

declare module '../../core/app.ts' {
  // The type parameters must be those of the class.
  interface Application<Services, Settings> extends ChannelMembers {}
}

declare module '../../core/services/service-map.ts' {
  interface ServiceMembers<S> {
    /** Sets the publisher of the service. Only with `socketio()`. */
    publish(publisher: ChannelPublisher): unknown
    publish(event: string, publisher: ChannelPublisher): unknown
  }
}
