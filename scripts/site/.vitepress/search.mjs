// The search of the site: what is in its index, and how a question finds it. `check.mjs` asks it questions.

/**
 * Words that users type, by the page that answers them, or by a heading or task on a page. They are part of the
 * index and are not shown.
 */
export const WORDS = {
  'docs/guides/accounts.md': 'forgot password confirm email verification activation link',
  'docs/guides/audit.md': 'audit log history trail changelog created_at updated_at timestamps',
  'docs/guides/conditional-requests.md':
    'etag optimistic locking concurrency version conflict cache',
  'docs/guides/deployment.md': 'deploy docker container kubernetes nginx production hosting pm2',
  'docs/guides/files.md':
    'upload image picture avatar file multer multipart s3 attachment download',
  'docs/guides/pages.md':
    'pagination paginate paginated paging infinite scroll load more offset results',
  'docs/guides/repeats.md': 'idempotency retry duplicate double submit',
  'docs/guides/roles-and-owners.md':
    'rbac acl role roles permission permissions authorization access control restrict records owner tenant multi-tenant',
  'docs/guides/scaling.md': 'cluster workers redis load balancer horizontal',
  'docs/guides/sessions.md': 'refresh token rotation refreshtoken logout revoke expire remember me',
  'docs/guides/soft-delete.md': 'soft delete deletedAt deleted trash restore archive',
  'docs/guides/streams.md': 'csv export ndjson excel download large',
  'docs/guides/testing.md': 'jest vitest mocha unit integration test mock fixtures',
  'docs/how-do-i.md#create-indexes': 'add index unique mongodb ensureIndex',
  'docs/how-do-i.md#join-related-records-aggregate':
    'populate lookup relation relations related association',
  'docs/how-do-i.md#let-users-download-a-private-file':
    'download a file pdf buffer stream attachment',
  'docs/how-do-i.md#log-with-pino-readably-in-development': 'pino logger pretty log level',
  'docs/how-do-i.md#migrate-data': 'database migration migrations schema change',
  'docs/how-do-i.md#move-from-express-or-nestjs': 'mongoose koa hapi',
  'docs/how-do-i.md#render-on-a-server-nextjs-nuxt-sveltekit':
    'nextjs next ssr remix server component',
  'docs/how-do-i.md#run-background-jobs-cron':
    'schedule scheduled cron job jobs scheduler queue worker bull agenda timer task',
  'docs/how-do-i.md#seed-data': 'seed database seeding fixtures initial sample',
  'docs/how-do-i.md#send-or-receive-webhooks': 'send webhook receive stripe github callback',
  'docs/how-do-i.md#use-websockets': 'websocket ws socket push notifications',
  'docs/how-do-i.md#validate-input': 'validator yup joi class-validator',
  'docs/reference/authentication.md': 'login password passport jwt bearer',
  'docs/reference/openapi.md': 'swagger redoc api documentation generate client sdk',
  'docs/reference/pipelines.md': 'populate join lookup related records aggregation group',
  'docs/reference/realtime.md':
    'websocket websockets sse server-sent events live updates push subscribe',
  'docs/reference/server.md#cors-compression-files':
    'enable cors cross-origin preflight gzip static',
  'docs/reference/server.md#logging': 'pino logger pretty log level',
  'docs/reference/socketio.md': 'websocket websockets ws socket',
  'docs/reference/tokens-and-passwords.md#rate-limits':
    'rate limit limiting throttle brute force login too many requests 429',
  'docs/reference/transactions.md': 'transaction rollback atomic session',
  'docs/reference/transactions.md#indexes': 'add index unique mongodb ttl',
}

/** Returns the HTML of a page as the index of the search reads it; nothing for a page that it leaves out. */
export function renderForSearch(source, env, md) {
  const page = env.relativePath
  // Reasons, the list of tests and whole programs would hide the pages that answer questions.
  if (/decisions\/|security-tests|^index\.md$|^examples\/(?!.*index\.md$)/.test(page)) return ''
  // Each task of a table is found by itself.
  const html = md
    .render(source, env)
    .replace(
      /<tr id="(.*?)">\s*<td>(.*?)<\/td>\s*<td>(.*?)<\/td>\s*<\/tr>/g,
      '<h3>$2 <a href="#$1"></a></h3><p>$3</p>',
    )
  return addWords(html, page)
}

function addWords(html, page) {
  let text = html
  for (const [address, words] of Object.entries(WORDS)) {
    const [path, anchor] = address.split('#')
    if (path.replace(/README\.md$/, 'index.md') !== page) continue
    const heading =
      anchor === undefined ? /<\/h1>/ : new RegExp(`href="#${anchor}"[^>]*>[^<]*</a></h\\d>`)
    if (!heading.test(text)) throw new Error(`search.mjs: ${address} is no heading or task`)
    text = text.replace(heading, (found) => `${found}<p>${words}</p>`)
  }
  return text
}

/**
 * Options of MiniSearch. Browsers get the source text of these functions, so they use nothing from outside
 * themselves.
 */
export const searchOptions = {
  options: { tokenize },
  searchOptions: {
    combineWith: 'OR',
    prefix: true,
    fuzzy: toEdits,
    processTerm: toTerm,
    boost: { title: 3, text: 2, titles: 1 },
    boostDocument: toWeight,
    // A long section that has a word is almost as good as a short one.
    bm25: { k: 1.2, b: 0.4, d: 0.5 },
  },
}

/** Splits text into the words of the search: `select` finds `$select`. */
function tokenize(text) {
  const words = text.split(/[\s\p{P}]+/u)
  return [...words, ...words.filter((word) => /^\p{S}./u.test(word)).map((word) => word.slice(1))]
}

/** Returns a word of a question as the index has it, or nothing for a word that any page may have. */
function toTerm(word) {
  const term = word.toLowerCase()
  const isFiller =
    /^(an?|the|and|or|to|of|in|on|for|from|with|by|is|are|do|does|can|my|me|i|it|how|what|use|using)$/
  return isFiller.test(term) ? null : term
}

/** Returns which part of a word of the search may differ: `match` is not to find `batch`. */
function toEdits(word) {
  return word.length > 6 ? 0.2 : 0
}

/** Returns what a page counts in the search: changes and the work on the project less than what users do. */
function toWeight(address) {
  if (/CHANGELOG/.test(address)) return 0.3
  return /CONTRIBUTING|checks|releasing|source-map|life-of/.test(address) ? 0.5 : 1
}
