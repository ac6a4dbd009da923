import { findClosedPort } from '../closed-port.ts'
import { errorOf } from '../error-of.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** What calls are rejected with. */
export function testErrors(t: Cases, { client, service, expected }: Cell): void {
  const { NotAcceptable, NotFound } = client.errors

  t.test('an error of a service is of its class, with all that the service said', async (t) => {
    const query = { feathersError: true }
    const error = await errorOf(service('todos').get(0, { query }))
    t.ok(error instanceof NotAcceptable)
    sameNamed(t, error, {
      ...{ name: 'NotAcceptable', message: 'This is a Feathers error', code: 406 },
      ...{ className: 'not-acceptable', data: { data: true } },
      errors: { text: 'is too odd' },
    })
    t.equal((error as Partial<typeof error>).response?.status, expected.statusOfError)
    t.ok((await errorOf(service('todos').get(-1))) instanceof NotFound)
  })

  t.test('an ordinary error of a service is a GeneralError', async (t) => {
    sameNamed(t, await errorOf(service('todos').get(0, { query: { error: true } })), {
      ...{ name: 'GeneralError', message: 'Something went wrong', code: 500 },
    })
  })

  t.test('a service or a method that is not there is named as an error', async (t) => {
    sameNamed(t, await errorOf(service('nothing').find()), { name: 'NotFound', code: 404 })
    const error = { name: 'MethodNotAllowed', code: 405 }
    sameNamed(t, await errorOf(service('results').remove('list')), error)
  })

  t.test('an error can be sent on as JSON', async (t) => {
    const error = await errorOf(service('todos').get(99))
    sameNamed(t, JSON.parse(JSON.stringify(error)), {
      ...{ name: 'NotFound', message: "No record found for id '99'", code: 404 },
      className: 'not-found',
    })
  })

  t.test('a connection that is refused is an error that can be sent on as well', async (t) => {
    const port = await findClosedPort()
    const app = client.createApp().configure(client.connect(`http://127.0.0.1:${port}`))
    const error = await errorOf(app.service('todos').find())
    sameNamed(t, error, expected.refusedConnection(port))
    t.type(JSON.stringify(error), 'string')
  })

  t.test('a call that its caller gives up ends, and says so', async (t) => {
    const connection = { signal: AbortSignal.abort() }
    const outcome = await outcomeOf(() => service('todos').find({ connection }))
    sameNamed(t, outcome, expected.abort)
  })
}
