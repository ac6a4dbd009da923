import type { ConnectionOptions } from '../../../src/client/index.ts'
import { BadRequest } from '../../../src/core/index.ts'
import { errorOf } from '../error-of.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** What our own client can do beyond the official one. */
export function testExtensions(t: Cases, { remote, service, expected }: Cell): void {
  t.test('headers may be a Headers object or pairs, and a value a list', async (t) => {
    const options: ConnectionOptions = { headers: { 'X-List': ['1', '2'] } }
    const echo = remote('echo', options)
    sameNamed(t, await echo.find({ connection: { headers: new Headers({ 'X-A': 'b' }) } }), {
      headers: { 'x-list': '1, 2', 'x-a': 'b' },
    })
    sameNamed(t, await echo.find({ headers: [['X-A', 'c']] }), { headers: { 'x-a': 'c' } })
  })

  t.test('objects with digits of their own are ids, and values of queries', async (t) => {
    const id = { toHexString: () => '65' }
    sameNamed(t, await service('echo').get(id, { query: { id } }), {
      id: '65',
      query: { id: '65' },
    })
  })

  t.test('a call that is given up ends with its own reason', async (t) => {
    const own = new BadRequest('own')
    const connection = { signal: AbortSignal.abort(own) }
    t.equal(await errorOf(service('todos').find({ connection })), own)
  })

  t.test('reads bytes, text and streams where they are asked for', async (t) => {
    const text = '[{"text":"some todo","complete":false,"id":0}]'
    const ask = (responseType: string) => service('todos').find({ connection: { responseType } })
    t.equal(await ask('text'), text)
    t.equal(new TextDecoder().decode((await ask('arrayBuffer')) as ArrayBuffer), text)
    t.equal(await ((await ask('blob')) as Blob).text(), text)
    const readStream = async () => new Response((await ask('stream')) as ReadableStream).text()
    sameNamed(t, await outcomeOf(readStream), expected.stream(text))
    const connection = { responseType: 'arrayBuffer' }
    const outcome = await outcomeOf(() => service('todos').get(-1, { connection }))
    sameNamed(t, outcome, { error: { name: 'NotFound', message: /-1/ } })
  })
}
