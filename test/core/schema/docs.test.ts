import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ObjectId } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import t from 'tap'

import type { Services } from '../../../examples/schemas.ts'
import { addTasks } from '../../../examples/schemas.ts'
import { openDatabase } from '../../support/database.ts'

const HEX = '507f1f77bcf86cd799439011'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every piece of code of the pages about schemas stands in an example that runs', (t) => {
  const names = ['labels', 'schemas', 'schema-hooks', 'resolvers']
  const withoutIndent = (text: string): string => text.replace(/^ +/gm, '')
  const examples = withoutIndent(names.map((name) => read(`examples/${name}.ts`)).join('\n'))
  const pages = ['schemas', 'schema-hooks', 'resolvers'].map((name) => `docs/reference/${name}.md`)
  const blocks = [
    ...pages
      .map(read)
      .join('\n')
      .matchAll(/```ts\n([\s\S]*?)```/g),
  ]
  const pieces = blocks.flatMap(([, block = '']) => withoutIndent(block).split('\n\n'))
  t.ok(pieces.length > 15)
  for (const piece of pieces) t.ok(examples.includes(piece), piece.split('\n')[0] ?? '')
  t.end()
})

/** The first places of what a refusal says: the path, or the name of what is missing or not known. */
function placeOf(body: string): unknown {
  const { message, data } = JSON.parse(body)
  if (message !== 'validation failed') return message
  const [{ instancePath, params }] = data
  return instancePath || params.missingProperty || params.additionalProperty
}

t.test('the example', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('tasks')
  await empty('labels')
  const app = fastifyApp(createApp<Services>()).configure(rest())
  t.teardown(() => app.close())
  addTasks(app, db)
  const inject = app.fastify.inject.bind(app.fastify)
  const create = async (payload: object, headers = {}): Promise<unknown> => {
    const { statusCode, body } = await inject({ method: 'POST', url: '/tasks', payload, headers })
    return statusCode === 201 ? JSON.parse(body) : placeOf(body)
  }
  await app.setup()

  await t.test('refuses data as the page says, and names the place', async (t) => {
    const CASES: readonly [data: object, place: string][] = [
      [{}, 'text'],
      [{ text: 5 }, '/text'],
      [{ text: 'Pack', priority: '3' }, '/priority'],
      [{ text: 'Pack', role: 'admin' }, 'role'],
      [{ text: 'Pack', createdBy: 'Eve' }, 'createdBy'],
      [{ text: 'Pack', due: '2026-02-30T00:00:00Z' }, '/due'],
      [{ text: 'Pack', due: '2026-01-31' }, '/due'],
      [{ text: 'Pack', labelId: null }, '/labelId'],
      [{ text: 'Pack', steps: [{ text: 5, done: true }] }, '/steps/0/text'],
      [[{ text: 'Pack' }, { text: 5 }], '/1/text'],
    ]
    for (const [data, place] of CASES) t.equal(await create(data), place, JSON.stringify(data))
    const { body } = await inject('/tasks/zz')
    t.match(JSON.parse(body), { code: 404 })
  })

  await t.test('takes data, and finds it again', async (t) => {
    const due = '2026-12-01T13:00:00+01:00'
    const task = await create({ text: 'Pack', due, labelId: HEX, tags: ['home', 'work'] })
    t.match(task, { done: false, priority: 3, due: '2026-12-01T12:00:00.000Z', labelId: HEX })
    t.notOk('createdBy' in (task as object), 'what the result does not name')
    const stored = await db.collection('tasks').findOne()
    t.match(stored, { due: new Date(due), labelId: new ObjectId(HEX), createdBy: 'Ann' })
    const form =
      'text=Ring&priority=5&done=true&tags[]=home&steps[0][text]=Pack&steps[0][done]=true'
    const added = await inject({ method: 'POST', url: '/tasks', payload: form, headers: FORM })
    t.equal(added.statusCode, 201)
    const find = async (query: string): Promise<unknown> => {
      const { statusCode, body } = await inject(`/tasks?${query}`)
      return statusCode === 200 ? JSON.parse(body).total : placeOf(body)
    }
    const CASES: readonly [query: string, expected: number | string][] = [
      ['priority[$gt]=3', 1],
      ['done=true', 1],
      ['due[$lt]=2026-12-31T00:00:00Z', 1],
      ['due[$lt]=2026-12-31T00:00:00%2B01:00', 1],
      [`labelId[$in][]=${HEX}`, 1],
      [`labelId=${HEX}`, 1],
      ['tags=home', 2],
      ['tags[$in][]=home&tags[$in][]=work', 2],
      ['tags[]=home', 1],
      ['steps.text=Pack', 1],
      ['priority[$in]=3', 1],
      [Array.from({ length: 30 }, () => 'priority[$in][]=3').join('&'), 1],
      ['$or[0][priority]=5&$or[1][done]=true', 1],
      ['text[$regex]=^pa&text[$options]=i', 1],
      ['due[$exists]=false', 1],
      ['due=', 1],
      ['labelId=', 1],
      ['done=', '/done'],
      ['due=null', '/due'],
      ['priority=0x3', '/priority'],
      ['priority=%2B3', '/priority'],
      ['priority=9007199254740993', '/priority'],
      ['priority[$gt]=0', '/priority/$gt'],
      ['done=1', '/done'],
      ['due[$lt]=2026-12-31T00:00:00+01:00', '/due/$lt'],
      ['tags[$regex]=a', '/tags'],
      ['createdBy=Ann', 'createdBy'],
      ['$sort[createdBy]=1', '/$sort'],
      ['$select[]=createdBy', '/$select/0'],
      ['$search=a', '$search'],
    ]
    for (const [query, expected] of CASES) t.equal(await find(query), expected, query)
  })

  await t.test('patches, and calls a custom method with a Date', async (t) => {
    const task = await db.collection('tasks').findOne({ text: 'Pack' })
    const patch = async (payload: object): Promise<unknown> => {
      const { statusCode, body } = await inject({
        method: 'PATCH',
        url: `/tasks/${task?._id}`,
        payload,
      })
      return statusCode === 200 ? JSON.parse(body) : placeOf(body)
    }
    t.match(await patch({}), { text: 'Pack', priority: 3 })
    t.match(await patch({ priority: 4 }), { text: 'Pack', priority: 4, done: false })
    t.equal(await patch({ 'steps.0.done': true }), 'steps.0.done')
    t.match(await patch({ due: null }), { text: 'Pack', due: null })
    t.equal(await patch({ labelId: null }), '/labelId')
    const unset = (await patch({ $unset: { labelId: '' }, due: '2026-12-01T12:00:00Z' })) as object
    t.match(unset, { due: '2026-12-01T12:00:00.000Z' })
    t.notOk('labelId' in unset, 'is removed')
    t.equal(await patch({ $unset: { text: '' } }), '/$unset')
    t.equal(await patch({ $unset: { labelId: 1 } }), '/$unset/labelId')
    t.equal(await patch({ $inc: { priority: 1 } }), '$inc')
    const headers = { 'x-service-method': 'finish' }
    const payload = { before: '2027-01-01T00:00:00Z' }
    const { body } = await inject({ method: 'POST', url: '/tasks', payload, headers })
    t.strictSame(JSON.parse(body), { finished: 1 })
  })

  await t.test('checks calls in the process where they say so', async (t) => {
    const labels = app.service('labels')
    const data = { name: '' }
    t.match(await labels.create(data), { name: '' })
    await t.rejects(labels.create(data, { provider: 'internal' }), { code: 400 })
    const { statusCode, body } = await inject('/labels?size=5')
    t.strictSame([statusCode, placeOf(body)], [400, 'size'])
  })
})
