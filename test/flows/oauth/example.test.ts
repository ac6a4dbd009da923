import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import t from 'tap'
import type { ChromiumPage } from '../../support/chromium.ts'
import { findChromium, openPage } from '../../support/chromium.ts'
import { until } from '../../support/until.ts'

const EXAMPLE = fileURLToPath(new URL('../../../examples/oauth.js', import.meta.url))

/** Starts the example on a free port, with a database of its own. Resolves to its address. */
async function startExample(t: Test): Promise<string> {
  const { MONGODB_URL: _own, ...env } = process.env
  const child = spawn(process.execPath, [EXAMPLE], {
    env: { ...env, PORT: '0', HOST: '127.0.0.1' },
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
  return /Sign in at (\S+)/.exec(output)?.[1] ?? ''
}

/** Reads the buttons that link and unlink, once they say something else. */
async function readLinks(page: ChromiumPage, before: string): Promise<string> {
  const expression = "[...document.querySelectorAll('[data-provider]')].map((it) => it.textContent)"
  let links = before
  await until(async () => {
    links = String((await page.evaluate(expression)) ?? before)
    return links !== before && !/^,?$/.test(links)
  })
  return links
}

const chromium = findChromium()
const skip = chromium ? false : 'no Chromium: it clicks through the example where one is installed'

t.test(
  'the example is clicked through: button, login, consent, and who it is',
  { skip },
  async (t) => {
    const url = await startExample(t)
    const page = await openPage(t, chromium ?? '', url)

    await page.click('#sign-in')
    await page.click('button[value=ann]')
    await page.click('button[value=allow]')
    t.equal(await page.read('#name'), 'Ann', 'a protected service was called with the token')
    t.equal(await page.read('#email'), 'ann@example.org')
    t.equal(await page.evaluate('location.href'), url, 'the token is not in the address any more')
    t.equal(await readLinks(page, ''), 'Unlink,Link an account')

    await page.click('[data-provider=example]')
    t.equal(await page.read('#error'), 'It is the only way into your account')

    await page.click('[data-provider=sample]')
    await page.click('button[value=ben]')
    await page.click('button[value=allow]')
    t.equal(await readLinks(page, 'Unlink,Link an account'), 'Unlink,Unlink')
    t.equal(
      await page.read('#name'),
      'Ann',
      'the account at the other provider is linked to the same',
    )
    await page.click('[data-provider=sample]')
    t.equal(await readLinks(page, 'Unlink,Unlink'), 'Unlink,Link an account')

    const token = String(await page.evaluate("sessionStorage.getItem('token')"))
    t.match(token, /^eyJ/)
    const callMe = () => fetch(`${url}me`, { headers: { authorization: `Bearer ${token}` } })
    t.equal((await callMe()).status, 200)
    await page.click('#log-out')
    t.match(await page.read('#guest'), 'You are not logged in')
    await until(async () => (await callMe()).status === 401)
  },
)

t.test('the example shows why nobody is logged in', { skip }, async (t) => {
  const url = await startExample(t)
  const page = await openPage(t, chromium ?? '', url)
  await page.click('#sign-in')
  await page.click('button[value=refuse]')
  t.equal(await page.read('#error'), 'You have not let us know who you are at example')
  t.match(await page.read('#guest'), 'You are not logged in')
})

t.test('the example takes no token from a link of somebody else', { skip }, async (t) => {
  const url = await startExample(t)
  const page = await openPage(t, chromium ?? '', `${url}#access_token=foreign&error=foreign`)
  t.match(await page.read('#guest'), 'You are not logged in')
  t.equal(await page.evaluate("document.querySelector('#error').hidden"), true)
  t.equal(await page.evaluate('location.href'), url)
})
