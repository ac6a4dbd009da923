import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { querySyntax, Type } from '../../src/core/schema/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { ChromiumPage } from '../support/chromium.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { openDatabase } from '../support/database.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

const TABS = 3
const LISTS = 10

const Task = Type.Object({ _id: Type.String(), team: Type.Integer(), rank: Type.Integer() })

/** Ten lists, of five queries at two services, and what the test asks the page for. */
const PAGE = `import { createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
window.show = (state) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}
// Which tab a browser without a screen shows is its own matter.
show('visible')
const client = createClient({ baseURL: location.origin })
client.configure(realtime({ hiddenMs: 1, reconnectMs: 10, recountMs: 10 }))
const queries = Array.from({ length: ${LISTS} }, (_value, index) => ({
  service: client.service(index % 2 ? 'tasks' : 'jobs'),
  query: { ...(index < 8 && { team: index >> 1 }), $sort: { rank: 1, _id: 1 }, ...(index > 7 && { $limit: 5 }) },
}))
window.answers = 0
window.isLive = false
window.isEqual = null
Promise.all(queries.map(({ service, query }) => service.live({ query }))).then((lists) => {
  window.lists = lists
  window.isLive = true
})
window.write = async (tab) => {
  for (let index = 0; index < 8; index += 1) {
    const data = { _id: tab + '-' + index, team: index >> 1, rank: (index * 7 + tab) % 5 }
    for (const path of ['tasks', 'jobs']) await client.service(path).create(data)
    window.answers += 1
  }
  await client.service('tasks').patch(tab + '-1', { team: 3 })
  await client.service('jobs').remove(tab + '-2')
  window.answers += 1
}
window.compare = async () => {
  const found = await Promise.all(queries.map(({ service, query }) => service.find({ query })))
  const shown = lists.map(({ data, total }) => [data, total])
  window.isEqual = JSON.stringify(shown) === JSON.stringify(found.map(({ data, total }) => [data, total]))
}
`

const HTML = '<!doctype html><script type="module" src="/page.js"></script>'
const { empty } = await openDatabase(t)
const chromium = findChromium()

/** Resolves when an expression has a value in a page. */
const hasValue = (page: ChromiumPage, expression: string, value: unknown): Promise<void> =>
  until(async () => (await page.evaluate(expression)) === value)

const equalsFind = (page: ChromiumPage): Promise<void> =>
  until(async () => {
    await page.evaluate('window.isEqual = null; void compare()')
    await until(async () => typeof (await page.evaluate('window.isEqual')) === 'boolean')
    return page.evaluate('window.isEqual')
  })

t.test(
  'three tabs with ten lists each leave room for calls over HTTP/1.1, by one connection each',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const { outputFiles } = await build({
      stdin: { contents: PAGE, resolveDir: fileURLToPath(new URL('../../../', import.meta.url)) },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    })
    const script = outputFiles[0]?.text
    const open = new Set<unknown>()
    let most = 0
    const models = [await empty('tasks'), await empty('jobs')]
    const { url } = await startOwnServer(t, (app) => {
      app.configure(realtime())
      for (const [index, path] of ['tasks', 'jobs'].entries()) {
        const options = { Model: models[index], allowClientId: true, paginate: { default: 20 } }
        app.use(path, new MongoDBService(options as never) as never, {
          schemas: { entity: Task, query: querySyntax(Task), create: true, patch: true },
        })
      }
      app.fastify.addHook('onRequest', async ({ raw }, reply) => {
        if (raw.url !== '/live-queries') return
        t.equal(raw.httpVersion, '1.1')
        open.add(raw.socket)
        most = Math.max(most, open.size)
        reply.raw.once('close', () => open.delete(raw.socket))
      })
      app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
      app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
    })
    const first = await openPage(t, chromium ?? '', url)
    const tabs = [first]
    while (tabs.length < TABS) tabs.push(await first.openTab(url))
    for (const tab of tabs) await hasValue(tab, 'window.isLive', true)
    t.equal(open.size, TABS)
    for (const [index, tab] of tabs.entries()) await tab.evaluate(`void write(${index})`)
    for (const tab of tabs) await hasValue(tab, 'window.answers', 9)
    for (const tab of tabs) await equalsFind(tab)
    t.strictSame([open.size, most], [TABS, TABS])

    for (const tab of tabs.slice(1)) await tab.evaluate("show('hidden')")
    await until(() => open.size === 1)
    for (const tab of tabs.slice(1)) {
      await hasValue(tab, "lists.every(({ status }) => status === 'waiting')", true)
    }
    await first.evaluate('window.answers = 0; void write(7)')
    await hasValue(first, 'window.answers', 9)
    await equalsFind(first)
    for (const tab of tabs.slice(1)) await tab.evaluate("show('visible')")
    for (const tab of tabs) await equalsFind(tab)
    t.equal(open.size, TABS)
  },
)
