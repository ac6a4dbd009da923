import { createRequire } from 'node:module'
import t from 'tap'
import { useLive } from '../../../src/client/react/index.ts'
import { findChromium } from '../../support/chromium.ts'
import { laterTurns, until } from '../../support/until.ts'
import { createUnanswered, openLivePage, root, testUseLive } from '../realtime/use-live-suite.ts'

const REACT_19 = `${root}scripts/react-pages/node_modules`

/** The folders of React by its version: tap needs the older one. */
const VERSIONS = {
  'React 18': {},
  'React 19': { react: `${REACT_19}/react`, 'react-dom': `${REACT_19}/react-dom` },
}

/** The component and its page: `wrap` is what stands around the component. */
const toScript = (wrap: string) => `
import * as React from 'react'
import { createRoot } from 'react-dom/client'
import { useLive } from 'remex/react'
const Tasks = ({ params }) => toText(params, useLive(client.service('tasks'), params))
const App = () => {
  const [params, setParams] = React.useState()
  const [mode, setMode] = React.useState('visible')
  window.show = setParams
  window.setMode = setMode
  const tasks = params === undefined ? null : <Tasks params={params} />
  return ${wrap}
}
createRoot(document.querySelector('main')).render(<React.StrictMode><App /></React.StrictMode>)
`

const skip = findChromium() ? false : 'no Chromium'

for (const [version, alias] of Object.entries(VERSIONS)) {
  t.test(`useLive of ${version}, in strict mode`, { skip }, async (t) => {
    await testUseLive(t, await openLivePage(t, { script: toScript('tasks'), options: { alias } }))
  })
}

t.test('a hidden tree has no stream, and loads again when it is shown', { skip }, async (t) => {
  const script = toScript('<React.Activity mode={mode}>{tasks}</React.Activity>')
  const options = { alias: VERSIONS['React 19'] }
  const { page, show, shows, add, streams, readRenders } = await openLivePage(t, {
    script,
    options,
  })
  await add(1, 'a')
  await show({ query: { team: 1 } })
  await shows(1, ['a'], 1, false, null)
  await page.evaluate("setMode('hidden')")
  await until(() => !streams[0]?.isOpen)
  await add(1, 'b')
  await page.evaluate("setMode('visible')")
  await shows(1, ['a', 'b'], 2, false, null)
  const renders = (await readRenders()).map((shown) => JSON.stringify(shown))
  t.ok(renders.includes(JSON.stringify([1, ['a'], 1, true, null])))
  t.equal(streams.length, 2)
})

t.test('a server renders what a page shows first, and opens nothing', async (t) => {
  // React comes without types.
  const require = createRequire(import.meta.url)
  const { createElement } = require('react')
  const { renderToString } = require('react-dom/server')
  const { tasks, signals } = createUnanswered()
  const Tasks = () => `${useLive(tasks, { query: { team: 1 } }).loading}`
  t.equal(renderToString(createElement(Tasks)), 'true')
  await laterTurns()
  t.strictSame(signals, [])
})
