// What is added to an application after its move, to look at what its own files and tests leave out.

/** What the compiler knows and refuses: `src/probe.ts`. */
export const PROBE = `
import rest from '@feathersjs/rest-client'
import { app } from './app'
import { createClient } from './client'
import type { HookContext } from './declarations'

export async function probe(context: HookContext) {
  const here = await app.service('messages').find({ query: { $limit: 1 } })
  const there = await createClient(rest('').fetch(fetch)).service('messages').find()
  const texts: (string | undefined)[] = [here.data[0]?.text, there.data[0]?.text]
  const port: number = context.app.get('port')
  app.service('messages').hooks({
    before: {
      create: [({ data }) => [data].flat().map(({ text }) => text satisfies string)],
      all: [({ params }) => params.user?.email satisfies string | undefined]
    }
  })
  // @ts-expect-error
  app.service('mesages')
  // @ts-expect-error
  context.app.get('prot')
  return { texts, port }
}
`

/** What the schemas take and refuse, whoever makes them: `test/schemas.test.ts`. */
export const SCHEMAS_TEST = `
import assert from 'assert'
import axios from 'axios'
import rest from '@feathersjs/rest-client'
import { app } from '../src/app'
import { createClient } from '../src/client'

describe('schemas, by the generated client', () => {
  const client = createClient(rest(\`http://\${app.get('host')}:\${app.get('port')}\`).axios(axios))
  const login = { email: 'schemas@example.com', password: 'supersecret' }
  const invalid = { name: 'BadRequest', message: 'validation failed' }

  before(async () => {
    await client.service('users').create(login)
    await client.authenticate({ strategy: 'local', ...login })
  })

  it('convert and check queries', async () => {
    const messages = client.service('messages')
    const [one, two] = await Promise.all(['one', 'two'].map((text) => messages.create({ text })))
    const find = async (query: {}) => (await messages.find({ query })).data.map(({ text }) => text)
    assert.deepEqual(await find({ $sort: { text: -1 }, $limit: 1 }), ['two'])
    assert.deepEqual(await find({ _id: { $in: [one?._id] } }), ['one'])
    assert.deepEqual(await find({ $or: [{ text: 'two' }, { text: { $gt: 'z' } }] }), ['two'])
    const selected = await messages.get(String(two?._id), { query: { $select: ['_id'] } })
    assert.deepEqual(Object.keys(selected), ['_id'])
    for (const query of [{ nope: 1 }, { text: { $regex: 'o' } }, { $limit: 'x' }, { $sort: { text: 'x' } }]) {
      await assert.rejects(find(query), invalid)
    }
  })

  it('check data', async () => {
    const messages = client.service('messages')
    const refused: object[] = [{ text: 'a', more: true }, { text: 1 }, {}]
    for (const data of refused) {
      await assert.rejects(messages.create(data as { text: string }), invalid)
    }
    const { _id, text } = await messages.create({ text: 'a' })
    const id = String(_id)
    assert.equal((await messages.patch(id, { text: \`\${text}b\` })).text, 'ab')
    await assert.rejects(messages.patch(id, { more: true } as object), invalid)
    assert.equal((await messages.remove(id)).text, 'ab')
  })
})
`
