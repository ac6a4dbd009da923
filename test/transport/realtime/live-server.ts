import { findStreams } from '../../../src/transport/finds/request-streams.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import type { EventHub } from '../../../src/transport/realtime/event-hub.ts'
import type { RealtimeOptions } from '../../../src/transport/realtime/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import type { EventFrames, Frame, Refusal } from '../../support/event-frames.ts'
import { askForFrames, openFrames } from '../../support/event-frames.ts'
import type { ListeningServer, TestScope } from '../../support/http.ts'
import type { OwnServerOptions } from '../../support/own-server.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

type RequestHeaders = Readonly<Record<string, string | string[]>>

/** An application whose services answer by streams. */
export interface LiveServer extends ListeningServer {
  readonly hub: EventHub
  /** Opens a stream of a path: `'/tasks?team=1'`. */
  open(path: string, headers?: RequestHeaders): Promise<EventFrames>
  /** Has a client leave; resolves when the server has noticed. */
  leave(stream: EventFrames): Promise<void>
  /** Opens a connection that several streams share. */
  share(subscriptions: readonly object[], headers?: RequestHeaders): Promise<EventFrames>
  /** Asks for a stream that there is none of. */
  refusal(path: string, headers?: RequestHeaders): Promise<Refusal>
}

export interface LiveServerOptions extends OwnServerOptions {
  readonly realtime?: RealtimeOptions
}

/** Starts an application with `realtime()`, on a free port. */
export async function startLiveServer(
  t: TestScope,
  configure: (app: FastifyApplication) => unknown,
  { realtime: options, ...others }: LiveServerOptions = {},
): Promise<LiveServer> {
  const server = await startOwnServer(
    t,
    (app) => {
      app.configure(realtime(options))
      return configure(app)
    },
    others,
  )
  const hub = findStreams(server.app) as EventHub
  const opened: EventFrames[] = []
  t.afterEach(async () => {
    await Promise.all(opened.splice(0).map((stream) => stream.close()))
    await until(() => hub.size === 0)
  })
  return {
    ...server,
    hub,
    async open(path, headers) {
      const stream = await openFrames(t, `${server.url}${path}`, headers)
      opened.push(stream)
      return stream
    },
    async share(subscriptions, headers) {
      const stream = await openFrames(t, `${server.url}/live-queries`, headers, { subscriptions })
      opened.push(stream)
      return stream
    },
    async leave(stream) {
      const { size } = hub
      await stream.close()
      await until(() => hub.size < size)
    },
    async refusal(path, headers) {
      const answer = await askForFrames(t, `${server.url}${path}`, headers)
      if ('status' in answer) return answer
      throw new Error(`${path} has a stream`)
    },
  }
}

/** Returns frames in short: `patched Ann`, or the id where that is all there is. */
export function toLines(frames: readonly Frame[]): string[] {
  return frames.map(({ event, data }) => `${event} ${data.name ?? data._id ?? ''}`.trimEnd())
}

/** A service that records of a name can be added to. */
interface Adding {
  create(data: object): Promise<unknown>
}

/**
 * Adds a record that a stream tells, so that everything before it has been told or never is. Resolves
 * to the lines before.
 */
export async function linesSoFar(
  stream: EventFrames,
  service: object,
  matching: object = {},
): Promise<string[]> {
  await (service as Adding).create({ ...matching, name: 'fence' })
  const frames = await stream.upTo(({ data }) => data.name === 'fence')
  return toLines(frames.slice(0, -1))
}
