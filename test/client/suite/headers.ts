import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

const JSON_TYPE = 'application/json'

/** Which headers a request has. */
export function testHeaders(t: Cases, { service, remote, expected }: Cell): void {
  t.test('JSON is asked for, and named where it is sent', async (t) => {
    const echo = remote('echo').methods('shout')
    const bodied = { accept: JSON_TYPE, 'content-type': JSON_TYPE }
    const bodiless = { accept: JSON_TYPE, 'content-type': expected.typeOfNoBody }
    sameNamed(t, await echo.find({}), { headers: bodiless })
    sameNamed(t, await echo.get(1, {}), { headers: bodiless })
    sameNamed(t, await echo.remove(1, {}), { headers: bodiless })
    sameNamed(t, await echo.create({ a: 1 }, {}), { headers: bodied })
    sameNamed(t, await echo.update(1, { a: 1 }, {}), { headers: bodied })
    sameNamed(t, await echo.patch(1, { a: 1 }, {}), { headers: bodied })
    sameNamed(t, await echo.shout?.({ a: 1 }, {}), { headers: bodied })
  })

  t.test('those of a call arrive', async (t) => {
    const headers = { Authorization: 'let me in' }
    sameNamed(t, await service('todos').get(0, { headers }), { authorization: 'let me in' })
  })

  t.test('those of a call win over those of the connection', async (t) => {
    const options = { headers: { Authorization: 'of all calls', 'X-All': 'a', 'X-Other': 'b' } }
    const headers = { Authorization: 'of the call', 'X-One': 'c' }
    sameNamed(t, await remote('echo', options).find({ headers }), {
      headers: { authorization: 'of the call', 'x-all': 'a', 'x-other': 'b', 'x-one': 'c' },
    })
  })

  t.test('the type of the body wins over options, and params win over it', async (t) => {
    const echo = remote('echo', { headers: { 'Content-Type': 'text/plain' } })
    sameNamed(t, await echo.create({ a: 1 }, {}), {
      data: { a: 1 },
      headers: { 'content-type': JSON_TYPE },
    })
    const headers = { 'Content-Type': `${JSON_TYPE}; charset=utf-8` }
    sameNamed(t, await echo.create({ a: 1 }, { headers }), {
      ...{ data: { a: 1 }, headers: { 'content-type': headers['Content-Type'] } },
    })
  })

  t.test('options may ask for another type', async (t) => {
    sameNamed(t, await remote('echo', { headers: { Accept: 'application/json;q=0.9' } }).find({}), {
      headers: { accept: expected.acceptOfOptions },
    })
  })

  t.test('a name is the same in lower case', async (t) => {
    const options = { headers: { Authorization: 'of all calls' } }
    const headers = { authorization: 'of the call' }
    sameNamed(t, await remote('echo', options).find({ headers }), {
      headers: { authorization: expected.ofTwoCases },
    })
  })

  t.test('those of params.connection are added, and win', async (t) => {
    const params = {
      headers: { 'X-Params': 'a', 'X-Both': 'of params' },
      connection: { headers: { 'X-Connection': 'b', 'X-Both': 'of connection' } },
    }
    sameNamed(t, await remote('echo').find(params), { headers: expected.headersOfConnection })
    const { connection } = params
    const create = () => remote('echo').create({ a: 1 }, { connection })
    sameNamed(t, await outcomeOf(create), expected.dataBesideConnection)
  })
}
