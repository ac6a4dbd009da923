// Looks at each page of the site on a wide and on a narrow screen, in Chromium if there is one.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../build-site/', import.meta.url))
const TYPES = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.woff2': 'font/woff2' }

/** Resolves to what is cut off on a page, or makes a page scroll sideways. */
export async function checkLayout() {
  const browser = ['chromium', 'chromium-browser', 'google-chrome'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  )
  if (browser === undefined) {
    console.log('The layout was not checked: that needs Chromium')
    return []
  }
  const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.html'))
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const found = new Promise((resolve) => server.on('request', createResponder(pages, resolve)))
  const profile = mkdtempSync(join(tmpdir(), 'remex-site-'))
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0']
  const address = `http://127.0.0.1:${server.address().port}/check`
  const child = spawn(browser, [...flags, `--user-data-dir=${profile}`, address], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const faults = await Promise.race([found, ended.then(() => ['Chromium ended too early'])])
  child.kill()
  await ended
  server.closeAllConnections()
  server.close()
  rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  console.log(`${pages.length} pages looked at, 1280 and 390 pixels wide`)
  return faults
}

/** Returns what serves the site, and the page that looks at the others and sends what it has found. */
function createResponder(pages, resolve) {
  return async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
    if (request.method === 'POST') {
      resolve(JSON.parse(Buffer.concat(await request.toArray()).toString()))
      return response.end()
    }
    const isCheck = path === '/check'
    try {
      const body = isCheck
        ? `<!doctype html><script>(${lookAtAll})(${JSON.stringify(pages)})</script>`
        : readFileSync(join(folder, path))
      const type = isCheck ? TYPES['.html'] : TYPES[extname(path)]
      return response.writeHead(200, { 'content-type': type ?? 'text/plain' }).end(body)
    } catch {
      return response.writeHead(404).end()
    }
  }
}

/** Runs in the browser. Pages are shown as they are sent, without their scripts. */
async function lookAtAll(pages) {
  const frame = document.createElement('iframe')
  frame.sandbox = 'allow-same-origin'
  frame.style.height = '1000px'
  document.documentElement.append(frame)
  const faults = []
  for (const page of pages) {
    frame.src = `/${page}`
    await new Promise((done) => frame.addEventListener('load', done, { once: true }))
    for (const width of [1280, 390]) {
      frame.style.width = `${width}px`
      for (const text of lookAt(frame.contentDocument)) faults.push(`${page} at ${width}: ${text}`)
    }
  }
  await fetch('/', { method: 'POST', body: JSON.stringify(faults) })

  function lookAt({ documentElement, defaultView }) {
    const isTooWide = (element) => element.scrollWidth > element.clientWidth + 1
    const elements = [...documentElement.querySelectorAll('main *')]
    const shown = elements.filter((element) => element.clientWidth > 1)
    const cut = shown.filter(
      (element) =>
        isTooWide(element) && /hidden|clip/.test(defaultView.getComputedStyle(element).overflowX),
    )
    // Only pictures made of characters, `text`, may scroll.
    const code = shown.filter(
      (element) => element.matches('div:not(.language-text) > pre') && isTooWide(element),
    )
    return [
      ...(isTooWide(documentElement) ? ['the page scrolls sideways'] : []),
      ...[...cut, ...code].map((element) => `cut: ${element.textContent.trim().slice(0, 60)}`),
    ]
  }
}
