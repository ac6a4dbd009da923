import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { createMessageReader, parseMessage } from '../../src/adapter/embedded/protocol/message.ts'
import type { TestScope } from './http.ts'

/** One connection of a driver. */
export interface ProxiedConnection {
  /** Names of the commands that have no answer yet: `['insert']`. */
  readonly inFlight: readonly string[]
  /** Names of all commands that it has carried; those of a monitor are no others than `hello`. */
  readonly names: ReadonlySet<string>
}

/** Stands between a driver and its server, and breaks what a test wants to be broken. */
export interface FaultProxy {
  readonly port: number
  /** URL for a client that talks to this proxy alone. */
  readonly url: string
  /** How many connections are open. */
  readonly size: number
  /** From now on answers are kept, while connections stay open: a server that hangs. */
  hold(): void
  /** Passes on what was kept, and what comes from now on. */
  release(): void
  /**
   * Hands each answer to a function that passes it on when it likes: a slow server. The second argument
   * is the name of the command.
   */
  slowDown(schedule: Schedule): void
  /** Loses all that is sent either way, while connections open and stay open: half-open ones. */
  swallow(): void
  /** Loses no more. What was lost stays lost: who waits for an answer waits in vain. */
  mend(): void
  /** Breaks these connections, else all, and forgets what was kept for them. Returns how many. */
  reset(isMeant?: (connection: ProxiedConnection, index: number) => boolean): number
  /** Breaks the connection of the next commands of this name, before they reach the server. */
  loseCommand(name: string, times?: number): void
  /** Breaks the connection of the next commands of this name, when the server has answered them. */
  loseReply(name: string, times?: number): void
}

type Loss = 'command' | 'reply'
type Schedule = (pass: () => void, name: string) => unknown

/** A connection of the driver and the one to the server that belongs to it. */
class Line implements ProxiedConnection {
  readonly names = new Set<string>()
  readonly #client: Socket
  readonly #commands = new Map<number, { readonly name: string; readonly isLost: boolean }>()

  constructor(client: Socket) {
    this.#client = client
  }

  get inFlight(): string[] {
    return [...this.#commands.values()].map(({ name }) => name)
  }

  send(id: number, name: string, isLost: boolean): void {
    this.names.add(name)
    this.#commands.set(id, { name, isLost })
  }

  /** Returns the name of the command that a message answers. */
  nameOf(message: Buffer): string {
    return this.#commands.get(message.readInt32LE(8))?.name ?? ''
  }

  answer(message: Buffer): void {
    const id = message.readInt32LE(8)
    const isLost = this.#commands.get(id)?.isLost
    this.#commands.delete(id)
    if (isLost) this.break()
    else if (this.#client.writable) this.#client.write(message)
  }

  break(): void {
    // Node can not reset a socket that is sending its end: it stays open, and the process spins when it exits.
    if (this.#client.writableEnded) this.#client.destroy()
    else this.#client.resetAndDestroy()
  }
}

/** Opens a proxy for the server of a URL; it is closed at the end of the test. */
export async function startFaultProxy(
  t: Pick<TestScope, 'teardown'>,
  url: string,
): Promise<FaultProxy> {
  const target = Number(new URL(url).port)
  const lines = new Set<Line>()
  const losses: { readonly name: string; readonly what: Loss; left: number }[] = []
  const passAtOnce: Schedule = (pass) => pass()
  let schedule = passAtOnce
  let kept: (() => void)[] = []
  let isSwallowing = false

  const takeLoss = (name: string): Loss | undefined => {
    const loss = losses.find((one) => one.name === name && one.left > 0)
    if (loss !== undefined) loss.left -= 1
    return loss?.what
  }
  const server = createServer((client) => {
    const upstream = connect({ port: target, host: '127.0.0.1' })
    const line = new Line(client)
    lines.add(line)
    const readCommands = createMessageReader()
    const readAnswers = createMessageReader()
    client.on('error', () => client.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => upstream.destroy()).on('close', () => client.destroy())
    client.on('close', () => lines.delete(line))
    client.on('data', (chunk) => {
      for (const message of readCommands(chunk)) {
        if (isSwallowing) continue
        const name = toName(message)
        const loss = takeLoss(name)
        if (loss === 'command') return line.break()
        line.send(message.readInt32LE(4), name, loss === 'reply')
        upstream.write(message)
      }
    })
    upstream.on('data', (chunk) => {
      for (const message of readAnswers(chunk)) {
        if (!isSwallowing) schedule(() => line.answer(message), line.nameOf(message))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const reset: FaultProxy['reset'] = (isMeant = () => true) => {
    const meant = [...lines].filter(isMeant)
    for (const line of meant) line.break()
    return meant.length
  }
  t.teardown(() => {
    reset()
    server.close()
  })
  return {
    port,
    url: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    get size() {
      return lines.size
    },
    hold() {
      schedule = (pass) => kept.push(pass)
    },
    release() {
      schedule = passAtOnce
      const answers = kept
      kept = []
      for (const answer of answers) answer()
    },
    slowDown(how) {
      schedule = how
    },
    swallow() {
      isSwallowing = true
    },
    mend() {
      isSwallowing = false
      losses.length = 0
    },
    reset,
    loseCommand(name, times = 1) {
      losses.push({ name, what: 'command', left: times })
    },
    loseReply(name, times = 1) {
      losses.push({ name, what: 'reply', left: times })
    },
  }
}

function toName(message: Buffer): string {
  return Object.keys(parseMessage(message).readBody())[0] ?? ''
}
