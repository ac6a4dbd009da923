// A page that several users edit without overwriting each other's changes. It needs
// `npm install esbuild`, which bundles the script of the page:
// `npx tsx node_modules/remex/examples/conditional.ts`. Reads PORT (3030), HOST (127.0.0.1) and
// MONGODB_URL (an embedded database by default). Open it in two windows, and save in both.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { conditional, createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBListService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewPage = Type.Object({ text: Type.String({ maxLength: 10_000 }) })
type NewPage = Static<typeof NewPage>

const Page = Type.Object({
  _id: ObjectIdSchema(),
  ...NewPage.properties,
  v: Type.Integer(),
})
type Page = Static<typeof Page>

/** A service without a database that keeps its own versions. */
class SettingsService {
  #settings = { theme: 'light', revision: 1 }

  async get(_id: string) {
    return this.#settings
  }

  async patch(_id: string, data: { theme: string }) {
    this.#settings = { ...data, revision: this.#settings.revision + 1 }
    return this.#settings
  }
}

type Services = {
  pages: MongoDBListService<Page, NewPage>
  settings: SettingsService
}

/** Returns the application. */
export function createPages(db: Db): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  addPages(app, db)
  app.use('settings', new SettingsService())
  app.service('settings').hooks({
    around: {
      all: [conditional<{ revision: number }>(({ revision }) => revision)],
    },
  })
  return app
}

function addPages(app: FastifyApplication<Services>, db: Db): void {
  const pages = new MongoDBListService<Page, NewPage>({
    Model: db.collection('pages'),
    version: 'v',
  })
  app.use('pages', pages, {
    etag: true,
    schemas: { entity: Page, create: NewPage, patch: NewPage },
  })
}

const HTML = `<!doctype html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A page to edit</title>
<form>
  <textarea name="text" rows="10" cols="60" aria-label="Text"></textarea>
  <p><button>Save</button> <output></output></p>
</form>
<script type="module" src="/page.js"></script>`

const SCRIPT = `
import { createClient } from 'remex/client'

const client = createClient({ baseURL: location.origin, version: 'v' })
const pages = client.service('pages')
const [form, output] = [document.querySelector('form'), document.querySelector('output')]

let [page] = await pages.find({ query: { $limit: 1 } })
form.text.value = page.text

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  try {
    page = await pages.patch(page, { text: form.text.value })
    output.textContent = 'Saved'
  } catch (error) {
    if (error.code !== 412) throw error
    page = await pages.get(page._id)
    output.textContent = 'Somebody has written meanwhile: ' + page.text + ' (save again to replace it)'
  }
})
`

/** Returns the application, with the form at `/` and one page to edit. */
export async function createSite(db: Db): Promise<FastifyApplication<Services>> {
  const app = createPages(db)
  const { outputFiles } = await build({
    stdin: { contents: SCRIPT, resolveDir: dirname(fileURLToPath(import.meta.url)) },
    bundle: true,
    format: 'esm',
    write: false,
  })
  const script = outputFiles[0]?.text
  app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
  app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
  const [first] = await app.service('pages').find({ query: { $limit: 1 } })
  if (first === undefined) await app.service('pages').create({ text: 'Hello' })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = await createSite(client.db('remex_conditional'))
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Open ${url} in two windows, or try

  ID=$(curl -s ${url}/pages | grep -o '[0-9a-f]\\{24\\}')
  TAG=$(curl -si ${url}/pages/$ID | sed -n 's/^etag: *\\(.*\\)\\r$/\\1/p'); echo $TAG    # "v-1-…"
  curl -i ${url}/pages/$ID -H "If-None-Match: $TAG"         # 304
  curl -i -X PATCH ${url}/pages/$ID ${json} -H 'If-Match: "v-1"' -d '{"text":"a"}' # twice: 412

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
