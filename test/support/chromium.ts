import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { TestScope } from './http.ts'
import { until } from './until.ts'

/** Returns the name of a browser that can run without a screen, `undefined` where none is installed. */
export function findChromium(): string | undefined {
  return ['chromium', 'chromium-browser', 'google-chrome'].find((name) => {
    try {
      return execFileSync(name, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).length > 0
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return false
      throw error
    }
  })
}

/** A page of a browser without a screen. */
export interface ChromiumPage {
  /**
   * Resolves to the value of an expression in the page, to `undefined` where it throws: while one
   * page follows another there may be none.
   */
  evaluate(expression: string): Promise<unknown>
  /** Waits until what a selector means is shown, and clicks it. */
  click(selector: string): Promise<void>
  /** Waits until what a selector means is shown, and resolves to its text. */
  read(selector: string): Promise<string>
  /** Loads the page anew. It is emptied first: `read` and `click` wait for the new one. */
  reload(): Promise<void>
  /** Shows the page as on a screen of another width, in CSS pixels. */
  setWidth(width: number): Promise<void>
  /** Shows the page as to a user who has chosen these colours. */
  setColorScheme(scheme: 'light' | 'dark'): Promise<void>
  /** Resolves to another page of the same browser. */
  openTab(url: string): Promise<ChromiumPage>
}

/** Resolves to a page of a new browser, which ends with the test. */
export async function openPage(t: TestScope, chromium: string, url: string): Promise<ChromiumPage> {
  const profile = mkdtempSync(join(tmpdir(), 'remex-chromium-'))
  const options = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
  const browser = spawn(chromium, [...options, '--remote-debugging-pipe'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const [, , , input, output] = browser.stdio
  const devtools = new Devtools(input as Writable, output as Readable)
  t.teardown(async () => {
    const ended = once(browser, 'exit')
    void devtools.send('Browser.close', {})
    await ended
    await until(() => remove(profile))
  })
  return openTab(devtools, url)
}

async function openTab(devtools: Devtools, url: string): Promise<ChromiumPage> {
  const { targetId } = await devtools.send('Target.createTarget', { url })
  const { sessionId } = await devtools.send('Target.attachToTarget', { targetId, flatten: true })
  const evaluate = async (expression: string): Promise<unknown> => {
    const params = { expression, returnByValue: true }
    const { result } = await devtools.send('Runtime.evaluate', params, sessionId)
    return (result as { value?: unknown } | undefined)?.value
  }
  const whenShown = async (selector: string, expression: string): Promise<unknown> => {
    const found = `document.querySelector(${JSON.stringify(selector)})`
    let value: unknown
    await until(async () => {
      // Before that, the scripts of the page may not listen yet.
      const isReady = "document.readyState === 'complete'"
      value = await evaluate(
        `((it) => ${isReady} && it?.checkVisibility() ? ${expression} : null)(${found})`,
      )
      return typeof value === 'string'
    })
    return value
  }
  return {
    evaluate,
    click: async (selector) => void (await whenShown(selector, "(it.click(), 'clicked')")),
    read: async (selector) => String(await whenShown(selector, 'it.textContent')),
    reload: async () => {
      await evaluate('document.documentElement.replaceChildren()')
      await devtools.send('Page.reload', {}, sessionId)
    },
    setWidth: async (width) => {
      const size = { width, height: 800, deviceScaleFactor: 1, mobile: false }
      await devtools.send('Emulation.setDeviceMetricsOverride', size, sessionId)
    },
    setColorScheme: async (value) => {
      const features = [{ name: 'prefers-color-scheme', value }]
      await devtools.send('Emulation.setEmulatedMedia', { features }, sessionId)
    },
    openTab: (other) => openTab(devtools, other),
  }
}

/** Resolves to whether a folder is gone: what Chromium has started may write there to the last. */
async function remove(folder: string): Promise<boolean> {
  try {
    await rm(folder, { recursive: true, force: true })
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOTEMPTY') return false
    throw error
  }
}

type Message = Readonly<Record<string, unknown>>

/** The protocol of the developer tools, by pipes: Node 20 has no WebSocket. */
class Devtools {
  readonly #input: Writable
  readonly #waiting = new Map<unknown, (message: Message) => void>()
  #count = 0

  constructor(input: Writable, output: Readable) {
    this.#input = input
    let received = ''
    output.setEncoding('utf8').on('data', (chunk: string) => {
      const messages = (received + chunk).split('\0')
      received = messages.pop() ?? ''
      for (const message of messages) this.#take(JSON.parse(message) as Message)
    })
  }

  /** Resolves to the result of a command: without members where the browser can't carry it out. */
  send(method: string, params: object, sessionId?: unknown): Promise<Message> {
    this.#count += 1
    const id = this.#count
    return new Promise((resolve) => {
      this.#waiting.set(id, ({ result = {} }) => resolve(result as Message))
      this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    })
  }

  #take(message: Message): void {
    const answer = this.#waiting.get(message['id'])
    this.#waiting.delete(message['id'])
    answer?.(message)
  }
}
