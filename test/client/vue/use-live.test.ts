import t from 'tap'
import { createSSRApp, effectScope, reactive, shallowRef } from 'vue'
import { renderToString } from 'vue/server-renderer'
import { useLive } from '../../../src/client/vue/index.ts'
import { findChromium } from '../../support/chromium.ts'
import { laterTurns, until } from '../../support/until.ts'
import { createUnanswered, openLivePage, testUseLive } from '../realtime/use-live-suite.ts'

const SCRIPT = `
import { createApp, h, shallowRef } from 'vue'
import { useLive } from 'remex/vue'
const params = shallowRef()
window.show = (next) => { params.value = next }
const Tasks = {
  props: ['params'],
  setup(props) {
    const { data, total, loading, error } = useLive(client.service('tasks'), () => props.params)
    return () => toText(props.params, {
      data: data.value, total: total.value, loading: loading.value, error: error.value,
    })
  },
}
createApp(() => (params.value === undefined ? null : h(Tasks, { params: params.value })))
  .mount('main')
`

const skip = findChromium() ? false : 'no Chromium'

t.test('useLive of Vue', { skip }, async (t) => {
  await testUseLive(t, await openLivePage(t, { script: SCRIPT }))
})

t.test('a server renders what a page shows first, and opens nothing', async (t) => {
  const { tasks, signals } = createUnanswered()
  const setup = () => {
    const { loading } = useLive(tasks, { query: { team: 1 } })
    return () => String(loading.value)
  }
  t.equal(await renderToString(createSSRApp({ setup })), 'true')
  await laterTurns()
  t.strictSame(signals, [])
})

t.test('ends with the scope that it was called in, without a component', async (t) => {
  const { tasks, signals } = createUnanswered()
  const scope = effectScope()
  const team = shallowRef(1)
  scope.run(() => useLive(tasks, () => ({ query: { team: team.value } })))
  await until(() => signals.length === 1)
  team.value = 2
  await until(() => signals.length === 2)
  t.strictSame(
    signals.map(({ aborted }) => aborted),
    [true, false],
  )
  scope.stop()
  t.ok(signals[1]?.aborted)
})

t.test('follows a service that comes late, and the content of a reactive object', async (t) => {
  const { tasks, signals } = createUnanswered()
  const service = shallowRef<object>()
  const params = reactive({ query: { team: 1 } })
  const scope = effectScope()
  t.teardown(() => scope.stop())
  const { loading } = scope.run(() => useLive(service, params)) ?? {}
  t.equal(loading?.value, false)
  service.value = reactive({ tasks }).tasks
  t.equal(loading?.value, true)
  await until(() => signals.length === 1)
  params.query.team = 2
  await until(() => signals.length === 2)
})
