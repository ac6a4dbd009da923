import { isAuthentication } from '../../auth/default-authentication.ts'
import { describeMethod } from '../../auth/method-description.ts'
import { metadataOf } from '../../core/function-metadata.ts'
import type { AnyApplication, MethodEntry, ServiceEntry } from '../../core/index.ts'
import { Channel, CombinedChannel } from './channel.ts'

/**
 * Returns the channels that get an event: one, several in a list, or a promise of these. `null` and `undefined` stand for none.
 * The context of an event that a service emits itself has `app`, `path`, `service` and `result` alone.
 */
export type ChannelPublisher = (
  // Events of a service may carry anything.
  // biome-ignore lint/suspicious/noExplicitAny: a record of the service, which the application types
  data: any,
  // biome-ignore lint/suspicious/noExplicitAny: the context as applications type it, {@link HookContext}
  context: any,
) => unknown

/** The members that `socketio()` gives to an application. */
export interface ChannelMembers {
  /** The names of the channels that have connections. */
  readonly channels: string[]
  /**
   * Returns the channel of a name, or several as one. A channel without connections is forgotten.
   * @throws {TypeError} there is no name
   */
  channel(...names: readonly ChannelName[]): Channel
  /** @internal */ publish(this: never): never
  /** Sets the publisher of services without their own. */
  publish(publisher: ChannelPublisher): this
  /** Sets the publisher of one event of these services. */
  publish(event: string, publisher: ChannelPublisher): this
}

type ChannelName = string | readonly string[]

/** Stands for all events without their own publisher. */
const ANY_EVENT = '*'

type Publishers = Map<string, ChannelPublisher>

/** Where the entry of a service keeps its publishers. */
const PUBLISHERS: unique symbol = Symbol('remex.channelPublishers')

type Entry = MethodEntry['entry']

/** The channels of an application, and its publishers. */
export class Channels {
  readonly #channels = new Map<string, Channel>()
  readonly #ofApp: Publishers = new Map()

  get names(): string[] {
    return [...this.#channels.keys()]
  }

  get(...given: readonly ChannelName[]): Channel {
    const names = given.flat()
    const [first, ...others] = names
    if (first === undefined) throw new TypeError('app.channel needs at least one channel name')
    if (others.length === 0) return this.#one(first)
    return new CombinedChannel(names.map((name) => this.#one(name)))
  }

  /** Has a connection leave all channels. */
  leaveAll(connection: object): void {
    for (const channel of this.#channels.values()) channel.leave(connection)
  }

  /** Returns the function `publish` of an application. */
  createPublish<Owner extends object>(app: Owner): PublishFunction<Owner> {
    return (...given) => {
      setPublisher(this.#ofApp, given)
      return app
    }
  }

  /** Gives a service its function `publish`, in place of that of `realtime()`. A service that has `publish` itself keeps it. */
  addService({ attachments, options, service }: Entry): void {
    const { publish } = service as { readonly publish?: object }
    if (publish !== undefined && metadataOf(publish).isReplaceable !== true) return
    const publishers: Publishers = new Map()
    attachments.set(PUBLISHERS, publishers)
    const value: PublishFunction<object> = (...given) => {
      const [event] = given
      if (typeof event === 'string' && !options.serviceEvents.includes(event)) {
        throw new TypeError(`'${event}' is not a valid service event`)
      }
      setPublisher(publishers, given)
      return service
    }
    const property = { value, configurable: true, writable: true }
    Object.defineProperties(service, { publish: property, registerPublisher: property })
  }

  /**
   * Returns the publisher of an event: that of the service before that of the application. Services that log in, or keep
   * secrets of logins, have only their own: their records are for no channel of all users.
   */
  findPublisher(entry: Entry, event: string): ChannelPublisher | undefined {
    const own = entry.attachments.get(PUBLISHERS) as Publishers | undefined
    const publisher = own?.get(event) ?? own?.get(ANY_EVENT)
    if (publisher !== undefined || isOfLogins(entry)) return publisher
    return this.#ofApp.get(event) ?? this.#ofApp.get(ANY_EVENT)
  }

  #one(name: string): Channel {
    const known = this.#channels.get(name)
    if (known !== undefined) return known
    const channel = new Channel().once('empty', () => {
      if (this.#channels.get(name) === channel) this.#channels.delete(name)
    })
    this.#channels.set(name, channel)
    return channel
  }
}

function isOfLogins(entry: Entry): boolean {
  return (
    isAuthentication(entry.service) ||
    [...entry.methods.keys()].some(
      (name) => describeMethod(entry as ServiceEntry, name) !== undefined,
    )
  )
}

type Publishing = [event: string | ChannelPublisher, publisher?: ChannelPublisher]

type PublishFunction<Owner> = (...given: Publishing) => Owner

function setPublisher(publishers: Publishers, [event, publisher]: Publishing): void {
  const name = typeof event === 'function' ? ANY_EVENT : event
  const given = typeof event === 'function' ? event : publisher
  if (typeof name !== 'string' || typeof given !== 'function') {
    throw new TypeError('publish() takes a function (data, context), perhaps after an event')
  }
  publishers.set(name, given)
}

/**
 * Gives an application `channel`, `channels` and `publish`.
 * @throws {TypeError} it has them already
 */
export function addChannels(app: AnyApplication): Channels {
  if ('channel' in app) throw new TypeError('socketio(): the application has channels already')
  const channels = new Channels()
  const publish = { value: channels.createPublish(app), configurable: true, writable: true }
  Object.defineProperties(app, {
    channels: { get: () => channels.names, configurable: true },
    channel: { value: channels.get.bind(channels), configurable: true, writable: true },
    ...{ publish, registerPublisher: publish },
  })
  return channels
}

declare module '../../core/app.ts' {
  // The parameters have to be those of the class.
  interface Application<Services, Settings> extends ChannelMembers {}
}

declare module '../../core/services/service-map.ts' {
  interface ServiceMembers<S> {
    /** Sets the publisher of the service. There once `socketio()` is configured. */
    publish(publisher: ChannelPublisher): unknown
    publish(event: string, publisher: ChannelPublisher): unknown
  }
}
