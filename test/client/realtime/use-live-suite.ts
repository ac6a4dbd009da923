import { fileURLToPath } from 'node:url'
import type { BuildOptions } from 'esbuild'
import { build } from 'esbuild'
import type { Test } from 'tap'
import { MongoDBService, ObjectIdSchema } from '../../../src/adapter/index.ts'
import { rest } from '../../../src/client/index.ts'
import { realtime as realtimeClient } from '../../../src/client/realtime/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import { Forbidden, Unavailable } from '../../../src/transport/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import type { ChromiumPage } from '../../support/chromium.ts'
import { findChromium, openPage } from '../../support/chromium.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { laterTurns, until } from '../../support/until.ts'

export const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** What a page shows: its team, the texts of its records, `total`, `loading`, and the name of the error. */
type Shown = readonly [unknown, readonly string[], number | null, boolean, string | null]

/** What a test has: a page, and the server that it came from. */
export interface LivePage {
  readonly page: ChromiumPage
  /** Has the page show the component with these params, or no component. */
  show(params?: object | null): Promise<void>
  /** Resolves when the page shows this. */
  shows(...shown: Shown): Promise<void>
  /** Resolves to all that the page has shown since it was loaded. */
  readRenders(): Promise<readonly Shown[]>
  /** The warnings and errors of the pages before this one. */
  readonly failures: readonly string[]
  /** Loads the page anew, without records and streams. */
  renew(): Promise<void>
  /** Creates a task, as another client would. */
  add(team: number, text: string): Promise<unknown>
  /** Creates so many tasks while the page does nothing else. */
  addAtOnce(team: number, count: number): Promise<void>
  /** The connections for live queries that clients have opened since the page was loaded, in their order. */
  readonly streams: readonly { readonly isOpen: boolean }[]
  /** Turns streams off, and cuts those that are open, or on again. */
  turn(state: 'off' | 'on'): void
}

/** A framework, and the end of a script for its page. */
interface Framework {
  /**
   * Calls `useLive(client.service('tasks'), params)` in a component, whose text is `toText(params, state)`,
   * and sets `window.show` to what gives it other params; without any, it is unmounted.
   */
  readonly script: string
  readonly options?: BuildOptions | undefined
}

const SCRIPT = `import { createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
const client = createClient({ baseURL: location.origin })
client.configure(realtime({ reconnectMs: 1, maxReconnectMs: 1 }))
window.renders = []
window.failures = []
console.error = console.warn = (...values) => failures.push(values.join(' '))
const toText = (params, { data, total, loading, error }) => {
  const texts = data.map(({ text }) => text)
  renders.push([params?.query.team ?? null, texts, total ?? null, loading, error?.name ?? null])
  return texts.join()
}
`

const HTML = '<!doctype html><main></main><script type="module" src="/page.js"></script>'

/** Numbers of a query string are numbers by it. */
const Task = Type.Object({ _id: ObjectIdSchema(), team: Type.Number(), text: Type.String() })

/** Returns a script that a page loads as `/page.js`. Frameworks are those of development: they warn. */
export async function bundlePage(contents: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles = [] } = await build({
    stdin: { contents, resolveDir: root, loader: 'tsx' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    jsx: 'automatic',
    define: {
      'process.env.NODE_ENV': '"development"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true',
    },
    ...options,
  })
  return outputFiles[0]?.text ?? ''
}

/** Returns a service, and the signal of each request that it has sent: none is ever answered. */
export function createUnanswered(): { tasks: object; signals: readonly AbortSignal[] } {
  const signals: AbortSignal[] = []
  const send = (_url: string, { signal }: { signal?: AbortSignal }): Promise<never> =>
    new Promise((_resolve, reject) => {
      if (signal === undefined) return
      signals.push(signal)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const app = createApp().configure(rest('http://127.0.0.1:1').fetch(send as typeof fetch))
  return { tasks: app.configure(realtimeClient()).service('tasks'), signals }
}

/** Resolves to a page of a framework, in a browser that ends with the test. */
export async function openLivePage(t: Test, { script, options }: Framework): Promise<LivePage> {
  const bundle = await bundlePage(SCRIPT + script, options)
  const { empty } = await openDatabase(t)
  const tasks = new MongoDBService({
    Model: await empty('tasks'),
    multi: true,
    paginate: { default: 10, max: 10 },
  })
  const streams: { isOpen: boolean; cut(): void }[] = []
  const failures: string[] = []
  let isDown = false
  let hold = new Gate()
  const { url, app } = await startOwnServer(t, (app) => {
    app.configure(realtime())
    app.use('tasks', tasks, { schemas: { entity: Task, create: true } })
    app.service('tasks').hooks({
      before: {
        find: ({ params }) => {
          if (params.provider && params.query?.['team'] === 13) throw new Forbidden('Not this team')
        },
      },
    })
    app.fastify.addHook('onRequest', async ({ url }, { raw }) => {
      if (url !== '/live-queries') return
      if (isDown) throw new Unavailable('Down')
      const stream = { isOpen: true, cut: () => void raw.destroy() }
      streams.push(stream)
      raw.on('close', () => {
        stream.isOpen = false
      })
    })
    app.fastify.get('/hold', async () => await hold.pass({}))
    app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
    app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(bundle))
  })
  const page = await openPage(t, findChromium() ?? '', url)
  const isThere = async () => (await page.evaluate('typeof show')) === 'function'
  await until(isThere)
  const readRenders = async () => JSON.parse(String(await page.evaluate('JSON.stringify(renders)')))
  return {
    page,
    streams,
    readRenders,
    failures,
    turn: (state) => {
      isDown = state === 'off'
      if (isDown) for (const { cut } of streams) cut()
    },
    show: async (params) => void (await page.evaluate(`show(${JSON.stringify(params)})`)),
    shows: (...shown) =>
      until(async () => JSON.stringify((await readRenders()).at(-1)) === JSON.stringify(shown)),
    addAtOnce: async (team, count) => {
      hold = new Gate()
      const blocked = page.evaluate(
        "(request => { request.open('GET', '/hold', false); request.send() })(new XMLHttpRequest())",
      )
      await hold.arrivals(1)
      const texts = Array.from({ length: count }, (_item, index) => `${index}`)
      await app.service('tasks').create(texts.map((text) => ({ team, text })))
      await laterTurns()
      hold.open()
      await blocked
    },
    add: (team, text) => app.service('tasks').create({ team, text }),
    renew: async () => {
      failures.push(...JSON.parse(String(await page.evaluate('JSON.stringify(window.failures)'))))
      await page.evaluate('show = undefined')
      await page.reload()
      await until(isThere)
      await until(() => streams.every(({ isOpen }) => !isOpen))
      await app.service('tasks').remove(null, { query: {} })
      streams.length = 0
    },
  }
}

/** Team 1 or 2. */
const query = (team: number) => ({ query: { team, $sort: { text: 1 } } })

/** Tests what `useLive` of all frameworks does. */
export async function testUseLive(t: Test, live: LivePage): Promise<void> {
  const { show, shows, add, streams } = live

  await t.test('shows that it loads, the records, and each change', async (t) => {
    await live.renew()
    await add(1, 'a')
    await show(query(1))
    await shows(1, ['a'], 1, false, null)
    await add(1, 'c')
    await add(2, 'x')
    await add(1, 'b')
    await shows(1, ['a', 'b', 'c'], 3, false, null)
    t.strictSame((await live.readRenders())[0], [1, [], null, true, null])
    t.equal(await live.page.read('main'), 'a,b,c')
  })

  await t.test('renders a few times for many events that arrive together', async (t) => {
    await live.renew()
    await show(query(1))
    await shows(1, [], 0, false, null)
    const { length } = await live.readRenders()
    await live.addAtOnce(1, 100)
    await until(async () => (await live.readRenders()).at(-1)?.[2] === 100)
    // Not 1: what a page reads at once is part of what has arrived.
    t.ok((await live.readRenders()).length - length < 50)
  })

  await t.test('shows no records of one query with the params of another', async (t) => {
    await live.renew()
    await add(1, 'a')
    await add(2, 'x')
    for (const [team, text] of [
      [1, 'a'],
      [2, 'x'],
      [1, 'a'],
    ] as const) {
      await show(query(team))
      await shows(team, [text], 1, false, null)
    }
    await until(() => streams.filter(({ isOpen }) => isOpen).length === 1)
    const seen = (await live.readRenders()).map((shown) => JSON.stringify(shown))
    const expected = [1, 2, 1].flatMap((team) => [
      [team, [], null, true, null],
      [team, [team === 1 ? 'a' : 'x'], 1, false, null],
    ])
    t.strictSame(
      seen.filter((shown, index) => shown !== seen[index - 1]),
      expected.map((shown) => JSON.stringify(shown)),
    )
  })

  await t.test('loads again what the page comes back to', async () => {
    await live.renew()
    await add(1, 'a')
    await show(query(1))
    await shows(1, ['a'], 1, false, null)
    live.turn('off')
    await show(query(2))
    await shows(2, [], null, true, null)
    await show(query(1))
    await shows(1, [], null, true, null)
    live.turn('on')
    await shows(1, ['a'], 1, false, null)
  })

  await t.test('keeps the stream for other params with the same content', async (t) => {
    await live.renew()
    await show(query(1))
    await shows(1, [], 0, false, null)
    await show(query(1))
    await add(1, 'a')
    await shows(1, ['a'], 1, false, null)
    t.equal(streams.length, 1)
  })

  await t.test('ends the stream with the component, and shows nothing any more', async (t) => {
    await live.renew()
    await show(query(1))
    await shows(1, [], 0, false, null)
    await show()
    await until(() => !streams[0]?.isOpen)
    const { length } = await live.readRenders()
    await add(1, 'a')
    await laterTurns()
    t.equal((await live.readRenders()).length, length)
    t.equal(streams.length, 1)
  })

  await t.test('opens nothing for a component that is unmounted at once', async (t) => {
    await live.renew()
    await live.page.evaluate(`show(${JSON.stringify(query(1))}); show()`)
    await show(query(2))
    await shows(2, [], 0, false, null)
    t.equal(streams.length, 1)
  })

  await t.test('shows why a query was rejected, until there is another one', async (t) => {
    await live.renew()
    await show(query(13))
    await shows(13, [], null, false, 'Forbidden')
    await show(query(1))
    await shows(1, [], 0, false, null)
    await show(null)
    await show(query(13))
    await shows(13, [], null, false, 'Forbidden')
    const renders = (await live.readRenders()).map((shown) => JSON.stringify(shown))
    const sinceNull = renders.slice(renders.lastIndexOf('[null,[],null,false,null]'))
    t.ok(sinceNull.includes('[13,[],null,true,null]'), 'it was sent again')
    await show({ query: { team: { $wrong: 1 } } })
    await until(async () => (await live.readRenders()).at(-1)?.[4] === 'BadRequest')
  })

  await t.test('keeps the records while the connection is lost', async () => {
    await live.renew()
    await add(1, 'a')
    await show(query(1))
    await shows(1, ['a'], 1, false, null)
    live.turn('off')
    await shows(1, ['a'], 1, false, 'Unavailable')
    live.turn('on')
    await add(1, 'b')
    await shows(1, ['a', 'b'], 2, false, null)
  })

  await t.test('waits without params', async (t) => {
    await live.renew()
    await show(null)
    await shows(null, [], null, false, null)
    t.equal(streams.length, 0)
    await show(query(1))
    await shows(1, [], 0, false, null)
    await show(null)
    await shows(null, [], null, false, null)
    await until(() => !streams[0]?.isOpen)
  })

  await live.renew()
  t.strictSame(live.failures, [], 'no warnings')
}
