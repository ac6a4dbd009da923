import type { HookContext as FeathersContext } from '@feathersjs/feathers'
import { Ajv } from '@feathersjs/schema'
import type { AjvOrNewable, ResolverContext } from 'feathers-hooks-common'
import {
  actOnDispatch,
  alterItems,
  cache,
  disablePagination,
  disallow,
  discard,
  discardQuery,
  fastJoin,
  iff,
  isNot,
  isProvider,
  keep,
  keepQuery,
  lowerCase,
  paramsFromClient,
  populate,
  preventChanges,
  required,
  runParallel,
  serialize,
  setField,
  setNow,
  setSlug,
  sifter,
  softDelete,
  stashBefore,
  unless,
  validate,
  validateSchema,
} from 'feathers-hooks-common'
import * as utils from 'feathers-utils'
import type { Document } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { AnyService, Application, HookOptions, Id, Params } from '../../src/transport/index.ts'
import { GeneralError } from '../../src/transport/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'
import { startServer } from '../support/http.ts'

const database = await openDatabase(t)

/** A server whose service `notes` has the given hooks, on records `{ text, ownerId? }`. */
async function start(
  t: TestScope,
  hooks: HookOptions<AnyService>,
  addServices?: (app: Application) => unknown,
) {
  const Model = await database.empty('notes')
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      app.use('notes', new MongoDBService({ Model, multi: true, paginate: { default: 2, max: 3 } }))
      addServices?.(app)
      app.service('notes').hooks(hooks)
    },
  })
  return {
    app: server.app,
    server,
    /** Sends a request for notes and returns the body of the answer. */
    async send(method: string, path = '', data?: object): Promise<Document> {
      const options = data === undefined ? { method } : { method, data }
      return (await server.request(`/notes${path}`, options)).body as Document
    },
    /** Writes records without any hook. */
    async insert(...records: Document[]): Promise<string[]> {
      const { insertedIds } = await Model.insertMany(records)
      return Object.values(insertedIds).map(String)
    },
    stored: () => Model.find({}, { projection: { _id: 0 } }).toArray(),
  }
}

/** A plain service of its own for the records that others refer to. */
function addPeople(app: Application, { db }: TestDatabase = database): void {
  app.use('people', new MongoDBService({ Model: db.collection<Document>('people'), multi: true }))
}

t.test('discard, keep, lowerCase, setNow, alterItems and setSlug change data', async (t) => {
  const loud = alterItems((note: Document) => ({ ...note, text: `${note['text']}!` }))
  const { send, stored } = await start(t, {
    before: {
      create: [discard('role'), keep('text', 'tag'), lowerCase('tag'), setNow('at'), loud],
      patch: [alterItems((note: Document) => void Object.assign(note, { by: 'hook' }))],
    },
    after: { create: [discard('at')] },
  })
  const data = { text: 'a', tag: 'UP', role: 'admin', other: 1 }
  const { _id, ...created } = await send('POST', '', data)
  t.same(created, { text: 'a!', tag: 'up' })
  t.match(await stored(), [{ text: 'a!', tag: 'up', at: Date }])
  t.match(await send('PATCH', `/${_id}`, { text: 'b' }), { text: 'b', by: 'hook' })
  t.match(await send('POST', '', { tag: 1 }), { code: 400, message: /Expected string data/ })
})

t.test('required, preventChanges, validate and validateSchema refuse data', async (t) => {
  const schema = { type: 'object', properties: { size: { type: 'number' } } }
  const even = ({ size }: Document) => (Number(size) % 2 === 0 ? {} : { size: 'is odd' })
  const { send, stored } = await start(t, {
    before: {
      create: [
        required('text'),
        validateSchema(schema, Ajv as unknown as AjvOrNewable),
        validate(even),
      ],
      patch: [preventChanges(true, 'ownerId'), preventChanges(false, 'text')],
    },
  })
  t.match(await send('POST', '', { size: 2 }), { code: 400, message: /text does not exist/ })
  const wrong = await send('POST', '', { text: 'a', size: 'x' })
  t.match(wrong, { code: 400, message: 'Data does not match schema', errors: [/must be number/] })
  t.match(await send('POST', '', { text: 'a', size: 1 }), { code: 400, errors: { size: 'is odd' } })
  const { _id } = await send('POST', '', { text: 'a', size: 2 })
  t.match(await send('PATCH', `/${_id}`, { ownerId: 2 }), { code: 400, message: /ownerId/ })
  await send('PATCH', `/${_id}`, { text: 'b', size: 4 })
  t.same(await stored(), [{ text: 'a', size: 4 }])
})

t.test('disallow, iff, unless, isProvider and isNot tell who calls', async (t) => {
  const isHidden = iff(isProvider('external'), discard('secret'))
  const { app, send, insert } = await start(t, {
    before: {
      remove: [disallow('external')],
      create: [unless(isProvider('server'), keep('text'))],
    },
    after: {
      get: [isHidden.else(setNow('readAt'))],
      find: [iff(isNot(isProvider('server')), discard('secret'))],
    },
  })
  const [id] = await insert({ text: 'a', secret: 's' })
  t.match(await send('DELETE', `/${id}`), { code: 405, message: /Provider 'rest' can not call/ })
  t.same(await send('GET', `/${id}`), { _id: id, text: 'a' })
  t.match(await send('GET'), { total: 1, data: [{ secret: undefined }] })
  t.match(await app.service('notes').get(id as Id), { secret: 's', readAt: Date })
  t.match(await send('POST', '', { text: 'b', role: 'x' }), { text: 'b', role: undefined })
  t.match(await app.service('notes').create({ role: 'x' }), { role: 'x' })
})

t.test('discardQuery, keepQuery, disablePagination, paramsFromClient change params', async (t) => {
  const seen: Params[] = []
  const { send, insert } = await start(t, {
    before: {
      find: [paramsFromClient('lang'), discardQuery('debug'), disablePagination()],
      get: [keepQuery('$select')],
      all: [({ params }) => void seen.push(params)],
    },
    after: { find: [({ params }) => void seen.push(params)] },
  })
  const [id] = await insert({ text: 'a' }, { text: 'b' }, { text: 'c' }, { text: 'd' })
  t.match(await send('GET', '?debug=1&$client[lang]=is&$client[role]=admin'), {
    total: 4,
    limit: 2,
  })
  t.match(seen[1], { query: {}, lang: 'is', provider: 'rest', role: undefined })
  t.equal((await send('GET', '?$limit=-1')).length, 4)
  t.same(await send('GET', `/${id}?$select[]=text&other=1`), { _id: id, text: 'a' })
})

t.test('setField and setSlug set values from params and the path', async (t) => {
  const seen: Params[] = []
  const Model = database.db.collection<Document>('notes')
  const { server, send } = await start(
    t,
    { before: { create: [setField({ from: 'params.user.name', as: 'data.by' })] } },
    (app) => {
      app.hooks({
        before: [(context) => void Object.assign(context.params, { user: { name: 'ann' } })],
      })
      app.use('shops/:shopId/notes', new MongoDBService({ Model }))
      app.service('shops/:shopId/notes').hooks({
        before: {
          all: [
            setSlug('shopId'),
            setField({ from: 'params.user.name', as: 'params.query.by' }),
            // A clone by lodash: what the server knows of the request is still there.
            ({ params: { address, requestId, signal, ...params } }) => {
              seen.push({ ...params, address, requestId, signal })
            },
          ],
        },
      })
    },
  )
  t.match(await send('POST', '', { text: 'a', shopId: '7' }), { by: 'ann' })
  t.match((await server.request('/shops/7/notes')).body, [{ text: 'a' }])
  t.match((await server.request('/shops/8/notes')).body, [])
  const [params] = seen
  t.match(params, { provider: 'rest', address: '127.0.0.1', requestId: /^req-/ })
  t.match(params?.query, { shopId: '7', by: 'ann' })
  t.type(params?.signal, AbortSignal)
})

t.test('stashBefore, softDelete and cache call the service again', async (t) => {
  const map = new Map<string, Document>()
  const seen: unknown[] = []
  const { send, insert, stored } = await start(t, {
    before: {
      all: [iff(({ method }: { method: string }) => method !== 'create', softDelete())],
      get: [cache(map, '_id')],
      patch: [stashBefore('old'), (context) => void seen.push(Reflect.get(context.params, 'old'))],
    },
    after: { get: [cache(map, '_id')] },
  })
  const [id] = await insert({ text: 'a' }, { text: 'b' })
  t.match(await send('PATCH', `/${id}`, { text: 'c' }), { text: 'c' })
  t.match(seen, [{ _id: id, text: 'a' }])
  t.match(await send('DELETE', `/${id}`), { text: 'c', deleted: true })
  t.match(await stored(), [{ text: 'c', deleted: true }, { text: 'b' }])
  t.match(await send('GET'), { total: 1, data: [{ text: 'b' }] })
  t.match(await send('GET', `/${id}`), { code: 404 })
})

t.test('populate, fastJoin, serialize and sifter change results', async (t) => {
  await database.empty('people')
  const joins = {
    joins: {
      owner:
        () =>
        async (note: Document, { app }: ResolverContext) => {
          note['owner'] = await app.service('people').get(note['ownerId'])
        },
    },
  }
  // Undefined for calls without a provider, which their type does not know.
  const provider = undefined as unknown as string
  const owner = { service: 'people', nameAs: 'owner', parentField: 'ownerId', childField: '_id' }
  const { app, send } = await start(
    t,
    {
      after: {
        get: [
          populate({ schema: { include: { ...owner, provider } } }),
          serialize({ only: ['text'], owner: { exclude: ['email'] }, computed: { n: () => 1 } }),
        ],
        find: [sifter(() => (note: Document) => note['text'] !== 'b'), fastJoin(joins)],
      },
    },
    addPeople,
  )
  const { _id } = (await app.service('people').create({ name: 'ann', email: 'a@b.c' })) as Document
  const notes = app.service('notes')
  const [note] = (await notes.create([{ text: 'a', ownerId: _id }, { text: 'b' }])) as Document[]
  t.match(await send('GET', `/${note?.['_id']}`), {
    text: 'a',
    owner: { name: 'ann', email: undefined },
    n: 1,
    ownerId: undefined,
  })
  t.match(await send('GET'), { total: 2, data: [{ text: 'a', owner: { email: 'a@b.c' } }] })
})

t.test('actOnDispatch and runParallel work on copies of what the caller gets', async (t) => {
  const parallel = new Promise<unknown>((resolve) => {
    t.context.seen = (context: { params: Params; id: unknown }) => resolve(context.id)
  })
  const { app, send, insert } = await start(t, {
    after: {
      get: [
        (context) => void Object.assign(context, { dispatch: { ...(context.result as object) } }),
        actOnDispatch(discard('secret')),
        runParallel(t.context.seen, (context: object) => Object.assign(Object.create(context), {})),
      ],
    },
  })
  const [id] = await insert({ text: 'a', secret: 's' })
  t.same(await send('GET', `/${id}`), { _id: id, text: 'a' })
  t.equal(String(await parallel), id)
  t.match(await app.service('notes').get(id as Id), { secret: 's' })
})

t.test('hooks of the packages work on errors, too', async (t) => {
  const rescue = (context: FeathersContext) => void Object.assign(context, { result: 1 })
  const { app } = await start(t, {
    error: {
      all: [alterItems(() => undefined), iff(true, rescue)],
    },
  })
  app.service('notes').hooks({ before: { find: [() => Promise.reject(new GeneralError('x'))] } })
  t.equal(await app.service('notes').find(), 1)
})

t.test('forEach, runPerItem, parseFields, setData and checkMulti of feathers-utils', async (t) => {
  const seen: unknown[] = []
  const note = (place: string) => async (item: Document) => void seen.push([place, item['text']])
  const { app, send, stored } = await start(t, {
    before: {
      all: [utils.checkMulti()],
      create: [
        (context) => void Object.assign(context.params, { user: { name: 'ann' } }),
        utils.parseFields('number', { fields: ['size'] }),
        utils.setData('params.user.name', 'by'),
        utils.setData('params.user.other', 'no', { allowUndefined: true }),
        utils.forEach(note('forEach'), { wait: 'sequential' }),
      ],
    },
    after: { find: [utils.runPerItem(note('find'))], create: [utils.runPerItem(note('create'))] },
  })
  t.match(await send('POST', '', { text: 'a', size: '5' }), { size: 5, by: 'ann' })
  await app.service('notes').create([{ text: 'b' }, { text: 'c' }], { provider: 'rest' })
  await send('GET')
  t.same(seen, [
    ['forEach', 'a'],
    ['create', 'a'],
    ['forEach', 'b'],
    ['forEach', 'c'],
    ['create', 'b'],
    ['create', 'c'],
    ['find', 'a'],
    ['find', 'b'],
  ])
  t.match(await stored(), [{ size: 5 }, { by: 'ann' }, { by: 'ann' }])
})

t.test('createRelated, removeRelated and onDelete of feathers-utils', async (t) => {
  await database.empty('people')
  const toPerson = (note: Document) => ({ name: note['text'], noteId: String(note['_id']) })
  const related = { service: 'people', keyHere: '_id', keyThere: 'noteId', blocking: true }
  const { app, send } = await start(
    t,
    {
      after: {
        create: [utils.createRelated({ service: 'people', data: toPerson })],
        remove: [
          (context) => {
            const result = context.result as Document
            context.result = { ...result, _id: String(result['_id']) }
          },
          utils.onDelete({ ...related, onDelete: 'set null', keyThere: 'noteId' }),
          utils.removeRelated({ ...related, keyThere: 'name', keyHere: 'text' }),
        ],
      },
    },
    addPeople,
  )
  const { _id } = await send('POST', '', { text: 'a' })
  await send('POST', '', { text: 'b' })
  const people = app.service('people')
  await people.create({ name: 'c', noteId: _id })
  t.match(await people.find(), [{ name: 'a', noteId: _id }, { name: 'b' }, { name: 'c' }])
  t.match(await send('DELETE', `/${_id}`), { text: 'a' })
  t.match(await people.find(), [{ name: 'b' }, { name: 'c', noteId: null }])
})

t.test('hooks of feathers-utils are skipped when params say so; its mixin is one', async (t) => {
  const { forEach: skipped } = utils
  const { app } = await start(t, {
    before: {
      find: [
        (context: FeathersContext) => void utils.markHookForSkip('forEach', 'before', context),
        skipped(() => Promise.reject(new Error('not skipped'))),
      ],
    },
  })
  const debounce = utils.debounceMixin() as unknown as (app: Application) => void
  app.configure(debounce).use('later', { find: async () => [] })

  t.match(await app.service('notes').find(), { total: 0 })
  t.ok('debouncedStore' in app.service('later'))
})
