import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { PROVIDER_RULES } from '../../../src/auth/oauth/settings/oauth-settings.ts'
import { findKnownProvider } from '../../../src/auth/oauth/settings/provider-settings.ts'

const ROOT = new URL('../../../../', import.meta.url)
const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8')
const story = read('docs/guides/oauth.md')
const reference = read('docs/reference/oauth.md')

const FILES = ['oauth', 'oauth-github', 'oauth-accounts', 'oauth/page']

t.test('every code block of the pages about OAuth stands in an example that runs', async (t) => {
  const examples = FILES.map((name) => read(`examples/${name}.ts`)).join('\n')
  for (const page of [story, reference]) {
    const blocks = [...page.matchAll(/```(?:ts|js|html)\n([\s\S]*?)```/g)]
    t.ok(blocks.length > 1)
    for (const [, block = ''] of blocks) t.ok(examples.includes(block), block.split('\n')[0] ?? '')
  }
})

t.test('the reference names every setting of a provider', async (t) => {
  const names = [...reference.matchAll(/`([\w.]+)`/g)].map(([, name]) => name)
  const missing = Object.keys(PROVIDER_RULES).filter((name) => !names.includes(name))
  t.strictSame(missing, [])
})

t.test('the table of providers says which scopes are asked for, where people are', async (t) => {
  const rows = [...reference.matchAll(/^\| `(\w+)` \| (O[^|]*) \| `([^`]*)` \| ([^|]*) \|/gm)]
  t.equal(rows.length, 11)
  for (const [, name = '', kind = '', scopes = '', address = ''] of rows) {
    const known = findKnownProvider(name)
    t.strictSame([known?.scope].flat().toSorted(), scopes.split(' ').toSorted(), name)
    if (kind.startsWith('OpenID')) t.match(kind, known?.issuer ? `\`${known.issuer}\`` : '`issuer:')
    else t.type(known?.profile_url, 'string')
    const flag = known?.verifiedEmail ?? null
    t.match(address, flag === null ? 'nowhere' : `\`${flag}\``)
  }
})
