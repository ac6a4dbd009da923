import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { PROVIDER_RULES } from '../../../src/auth/oauth/settings/provider-section.ts'
import { findKnownProvider } from '../../../src/auth/oauth/settings/provider-settings.ts'
import { until } from '../../support/until.ts'

const ROOT = new URL('../../../../', import.meta.url)
const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8')
const story = read('docs/oauth.md')
const reference = read('docs/oauth-reference.md')

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

t.test(
  'the table of providers says which scopes are asked for, and where people are',
  async (t) => {
    const rows = [...reference.matchAll(/^\| `(\w+)` \| (O[^|]*) \| `([^`]*)` \| ([^|]*) \|/gm)]
    t.equal(rows.length, 11)
    for (const [, name = '', kind = '', scopes = '', address = ''] of rows) {
      const known = findKnownProvider(name)
      t.strictSame([known?.scope].flat().toSorted(), scopes.split(' ').toSorted(), name)
      if (kind.startsWith('OpenID')) t.match(kind, `\`${known?.issuer}\``)
      else t.type(known?.profile_url, 'string')
      const flag = known?.verifiedEmail ?? null
      t.match(address, flag === null ? 'nowhere' : `\`${flag}\``)
    }
  },
)

t.test('the program for GitHub sends people there', async (t) => {
  const { MONGODB_URL: _own, ...env } = process.env
  const example = fileURLToPath(new URL('build/examples/oauth-github.js', ROOT))
  const child = spawn(process.execPath, [example], {
    env: { ...env, PORT: '0', HOST: '127.0.0.1', GITHUB_KEY: 'a-key', GITHUB_SECRET: 'a-secret' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until(() => output.includes('Ctrl-C') || child.exitCode !== null)
  const url = /Open ([^\s,]+)/.exec(output)?.[1] ?? ''
  const { status, headers } = await fetch(url, { redirect: 'manual' })
  t.equal(status, 303)
  const target = new URL(headers.get('location') ?? 'none:')
  t.equal(target.origin + target.pathname, 'https://github.com/login/oauth/authorize')
  t.match(Object.fromEntries(target.searchParams), {
    client_id: 'a-key',
    redirect_uri: `${url}/callback`,
    scope: 'read:user user:email',
    code_challenge_method: 'S256',
  })
})
