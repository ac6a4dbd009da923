import { Emitter } from '../../core/events/emitter.ts'

/** What clients of a channel get in place of the record; `null` for the record. */
type Payload = unknown

const HAS_ENDED: unique symbol = Symbol('remex.hasEnded')

/** Marks a connection that has ended: a listener that joins it later would keep it for ever. */
export function markEnded(connection: object): void {
  Object.defineProperty(connection, HAS_ENDED, { value: true })
}

/** Connections that get the same events. Emits `empty` when the last one has left. */
export class Channel extends Emitter {
  /** What its connections get in place of the record, `null` for the record. */
  readonly data: Payload
  readonly #connections: Set<object>

  /** @param data what its connections get in place of the record. Default: `null`, the record */
  constructor(connections: Iterable<object> = [], data: Payload = null) {
    super((error) => {
      throw error
    })
    this.#connections = new Set(connections)
    this.data = data
  }

  /** The connections in the order in which they joined. */
  get connections(): object[] {
    return [...this.#connections]
  }

  /** How many connections there are. */
  get length(): number {
    return this.#connections.size
  }

  /** Adds connections. Left out are those that have ended, and `undefined`: a login over REST has none. */
  join(...connections: readonly Joining[]): this {
    for (const connection of connections) {
      if (connection && !(HAS_ENDED in connection)) this.#connections.add(connection)
    }
    return this
  }

  /** Removes connections, or those for which a function returns `true`. */
  leave(...connections: readonly Leaving[]): this {
    for (const given of connections) {
      if (typeof given !== 'function') this.#connections.delete(given as object)
      else for (const one of this.connections) if (given(one)) this.#connections.delete(one)
    }
    if (this.length === 0) this.emit('empty')
    return this
  }

  /** Returns a channel of the connections for which a function returns `true`. */
  filter(test: ConnectionTest): Channel {
    return new Channel(this.connections.filter(test), this.data)
  }

  /** Returns a channel whose connections get other data than the record. */
  send(data: Payload): Channel {
    return new Channel(this.#connections, data)
  }

  /** Whether a connection is in the channel. */
  has(connection: object): boolean {
    return this.#connections.has(connection)
  }

  /** Returns what a connection gets in place of the record, `null` for the record. */
  dataFor(_connection: object): Payload {
    return this.data
  }
}

/** Whether a connection is meant: `({ user }) => user.role === 'admin'`. */
// Applications declare what is on their connections.
// biome-ignore lint/suspicious/noExplicitAny: a connection has whatever hooks and events have put there
export type ConnectionTest = (connection: any) => unknown

type Joining = object | null | undefined

type Leaving = Joining | ConnectionTest

/** Several channels as one, in which each connection is once. */
export class CombinedChannel extends Channel {
  readonly children: readonly Channel[]

  /** @param data what all connections get. Default: `null`, what the first channel of each has */
  constructor(children: readonly Channel[], data: Payload = null) {
    super(
      children.flatMap((child) => child.connections),
      data,
    )
    this.children = children
  }

  override join(...connections: readonly Joining[]): this {
    for (const child of this.children) child.join(...connections)
    return super.join(...connections)
  }

  override leave(...connections: readonly Leaving[]): this {
    for (const child of this.children) child.leave(...connections)
    return super.leave(...connections)
  }

  override filter(test: ConnectionTest): Channel {
    const children = this.children.map((child) => child.filter(test))
    return new CombinedChannel(children, this.data)
  }

  override send(data: Payload): Channel {
    return new CombinedChannel(this.children, data)
  }

  override dataFor(connection: object): Payload {
    if (this.data !== null) return this.data
    return this.children.find((child) => child.has(connection))?.dataFor(connection) ?? null
  }
}
