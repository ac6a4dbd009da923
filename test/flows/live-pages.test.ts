import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { compileScript, parse } from 'vue/compiler-sfc'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import { Type } from '../../src/core/schema/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { ChromiumPage } from '../support/chromium.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { openDatabase } from '../support/database.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

/** Numbers of a query string are numbers by it. */
const Task = Type.Object({
  _id: ObjectIdSchema(),
  team: Type.Number(),
  text: Type.String(),
})

const { empty } = await openDatabase(t)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const REACT = `${root}scripts/react-pages/node_modules`
const docs = readFileSync(`${root}docs/reference/realtime-client.md`, 'utf8')
const chromium = findChromium()

/** What a page has beside the component of the docs, which is `Tasks`. */
const CLIENT = `import { createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
const client = createClient({ baseURL: location.origin })
client.configure(realtime())
addEventListener('click', ({ target }) => {
  if (target.id === 'add') client.service('tasks').create({ team: 1, text: 'Task ' + Math.random() })
  if (target.id === 'clear') client.service('tasks').patch(null, { team: 2 }, { query: { team: 1 } })
})
`

const PAGES = {
  React: `import { createRoot } from 'react-dom/client'
createRoot(document.querySelector('main')).render(<Tasks team={1} />)
`,
  Vue: `import { createApp } from 'vue'
createApp(Tasks, { team: 1 }).mount('main')
`,
}

const HTML = `<!doctype html><button id="add">Add</button><button id="clear">Clear</button><main></main>
<script type="module" src="/page.js"></script>`

/** Returns the script of a page, with the component as the docs have it. */
async function bundlePage(framework: keyof typeof PAGES): Promise<string> {
  const [, language, block = ''] =
    new RegExp(`### ${framework}\\n[^#]*?\`\`\`(tsx|vue)\\n([\\s\\S]*?)\`\`\``).exec(docs) ?? []
  const component = language === 'vue' ? `${compileComponent(block)}\n` : block
  const { outputFiles } = await build({
    stdin: { contents: CLIENT + component + PAGES[framework], resolveDir: root, loader: 'tsx' },
    bundle: true,
    jsx: 'automatic',
    // The React at the root is tap's.
    alias: { react: `${REACT}/react`, 'react-dom': `${REACT}/react-dom` },
    format: 'esm',
    platform: 'browser',
    write: false,
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
    },
  })
  return outputFiles[0]?.text ?? ''
}

/** Returns the module of a single-file component, which is `Tasks` there. */
function compileComponent(source: string): string {
  const { descriptor } = parse(source)
  const options = { id: 'tasks', inlineTemplate: true, genDefaultAs: 'Tasks' }
  return compileScript(descriptor, options).content
}

const shows = (page: ChromiumPage, texts: string[]) =>
  until(async () => {
    const read = `[...document.querySelectorAll('li')].map(({ textContent }) => textContent.split(' ')[0]).join()`
    return (await page.evaluate(read)) === texts.join()
  })

for (const framework of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
  t.test(
    `${framework}: what one page writes changes the list of another`,
    { skip: chromium ? false : 'no Chromium' },
    async (t) => {
      const script = await bundlePage(framework)
      const tasks = await empty('tasks')
      const { url } = await startOwnServer(t, (app) => {
        app.configure(realtime())
        app.use('tasks', new MongoDBService({ Model: tasks, multi: true }), {
          schemas: { entity: Task, create: true, patch: true },
        })
        app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
        app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
      })
      const pages = [await openPage(t, chromium ?? '', url), await openPage(t, chromium ?? '', url)]
      const [one, other] = pages as [ChromiumPage, ChromiumPage]
      for (const page of pages) await shows(page, [])
      await one.click('#add')
      await shows(other, ['Task'])
      await other.click('#add')
      await shows(one, ['Task', 'Task'])
      await one.click('#clear')
      for (const page of pages) await shows(page, [])
      t.equal(await tasks.countDocuments({ team: 2 }), 2)
    },
  )
}
