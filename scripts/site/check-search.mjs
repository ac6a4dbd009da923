// Asks the search of the site what users ask.
import { existsSync, readdirSync } from 'node:fs'
import MiniSearch from 'minisearch'
import { root } from './.vitepress/programs.mjs'
import { searchOptions, WORDS } from './.vitepress/search.mjs'

/** How many hits a user looks at. */
const MAX_HITS = 3

/** A page for each question, without its folder and ending, or several if each of them answers it. */
const QUESTIONS = {
  'how to paginate results': ['guides/pages'],
  pagination: ['guides/pages'],
  'download a file': ['how-do-i#let-users-download-a-private-file', 'guides/files'],
  'schedule a cron job': ['how-do-i#run-background-jobs-cron'],
  'seed the database': ['how-do-i#seed-data'],
  websocket: ['reference/socketio', 'how-do-i#use-websockets', 'reference/realtime'],
  'websocket live updates': ['reference/realtime', 'reference/realtime-client'],
  'send webhook': ['how-do-i#send-or-receive-webhooks'],
  'pino logger pretty': [
    'how-do-i#log-with-pino-readably-in-development',
    'reference/server#logging',
  ],
  'use with nextjs': ['how-do-i#render-on-a-server-nextjs-nuxt-sveltekit'],
  'upload image': ['guides/files'],
  multer: ['guides/files'],
  'restrict records to owner': ['guides/roles-and-owners', 'tutorial/3-owners'],
  'role based permissions rbac': ['guides/roles-and-owners'],
  'refresh token rotation': ['guides/sessions'],
  'populate related records': [
    'reference/pipelines',
    'tutorial/4-relations',
    'how-do-i#join-related-records-aggregate',
  ],
  'rate limit login': ['reference/tokens-and-passwords'],
  'add index mongodb': ['reference/transactions#indexes', 'how-do-i#create-indexes'],
  'deploy docker': ['guides/deployment', 'tutorial/6-deployment'],
  transaction: ['reference/transactions'],
  'database migration': ['how-do-i#migrate-data'],
  'enable cors': ['reference/server'],
  'soft delete': ['guides/soft-delete'],
  'audit log': ['guides/audit'],
  mongoose: ['how-do-i'],
  swagger: ['reference/openapi'],
}

/** Resolves to the questions that no page of theirs is among the first hits for. */
export async function checkSearch() {
  const index = await loadIndex()
  const lost = Object.entries(QUESTIONS).flatMap(([question, answers]) => {
    const hits = index.search(question).slice(0, MAX_HITS)
    const ids = hits.map(({ id }) => id.replace(/^\/(docs\/)?|\.html/g, ''))
    const isFound = ids.some((id) => answers.some((page) => `${id}#`.startsWith(`${page}#`)))
    return isFound
      ? []
      : [`'${question}' finds ${ids.join(', ')} instead of ${answers.join(' or ')}`]
  })
  const all = Object.keys(QUESTIONS).length
  console.log(`${all - lost.length} of ${all} questions find their page`)
  const pages = Object.keys(WORDS).map((address) => address.replace(/#.*/, ''))
  const missing = pages.filter((page) => !existsSync(`${root}${page}`))
  return [...lost, ...missing.map((page) => `search.mjs has words for ${page}, which is no page`)]
}

/** Resolves to the index as the search box of VitePress makes it. */
async function loadIndex() {
  const chunks = new URL('../../build-site/assets/chunks/', import.meta.url)
  const name = readdirSync(chunks).find((file) => file.startsWith('@localSearchIndex'))
  const { default: json } = await import(new URL(name, chunks))
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    ...searchOptions.options,
    searchOptions: searchOptions.searchOptions,
  })
}
