import { MongoClient } from 'mongodb'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'
import type { Mistake } from './mistake.ts'
import { ask, thrown, warned } from './mistake.ts'

const db = new MongoClient('mongodb://127.0.0.1:1').db('shop')

/** Makes a service with options that the compiler would refuse. */
function create(options: object): MongoDBService {
  return new MongoDBService({ Model: idleCollection, ...options } as never)
}

function serve(app: FastifyApplication, options: object = {}): FastifyApplication {
  app.use('messages', create(options))
  // As one that converts the values of queries.
  app.service('messages').hooks({ before: { find: [() => undefined] } })
  return app
}

/** Mistakes about a service on a collection. */
export const ADAPTER_MISTAKES: readonly Mistake[] = [
  thrown(
    'a database in place of a collection',
    () => create({ Model: db }),
    "MongoDBService: the option 'Model' must be a MongoDB collection, as db.collection('name') returns it",
  ),
  thrown(
    'a method that takes params alone, for callers outside',
    (app) => {
      app.use('messages', create({}), { methods: ['find', 'countDocuments'] })
      return app.fastify.ready()
    },
    "'countDocuments' of service 'messages' is only for internal calls: external callers could set its params. Offer a custom method (data, params) that calls it",
  ),
  thrown(
    'a promise of a database in place of a collection',
    () => create({ Model: Promise.resolve(db) }).find(),
    "MongoDBService: the option 'Model' must be a MongoDB collection, as db.collection('name') returns it",
  ),
  thrown(
    'no collection',
    () => new MongoDBService({} as never),
    "MongoDBService: the option 'Model' must be a MongoDB collection",
  ),
  thrown(
    'a collection in place of the options',
    () => new MongoDBService(idleCollection as never),
    "MongoDBService: the options must be an object with 'Model', a MongoDB collection, as db.collection('name') returns it",
  ),
  thrown(
    'a mistyped page size',
    () => create({ paginate: { defualt: 10 } }),
    "MongoDBService: unknown option 'paginate.defualt'; did you mean 'default'?",
  ),
  thrown(
    'true for pages',
    () => create({ paginate: true }),
    "MongoDBService: the option 'paginate' must be false or { default, max }, as { default: 10, max: 100 } is",
  ),
  thrown(
    'a number for pages',
    () => create({ paginate: 10 }),
    "MongoDBService: the option 'paginate' must be false or { default, max }, as { default: 10, max: 100 } is",
  ),
  thrown(
    'pages by another name',
    () => create({ pagination: { default: 10 } }),
    "MongoDBService: unknown option 'pagination'; did you mean 'paginate'?",
  ),
  thrown(
    'the name of a method for many',
    () => create({ multi: 'create' }),
    "MongoDBService: the option 'multi' must be true, false, or a list of 'create', 'patch' and 'remove'",
  ),
  thrown(
    'operators without a dollar sign',
    () => create({ operators: ['regex'] }),
    "MongoDBService: the option 'operators' must be a list of operators, with $",
  ),
  thrown(
    'pages of one call that are mistyped',
    () => create({}).find({ paginate: { limit: 10 } as never }),
    "params: unknown option 'paginate.limit', allowed are default, max",
  ),
  thrown(
    'an option for the driver that is mistyped',
    () => create({}).find({ docdb: { readPreferense: 'secondary' } } as never),
    /params\.docdb\.readPreferense is not one for .*; did you mean 'readPreference'\?/,
  ),
  thrown(
    'many records in the process that are not allowed',
    () => create({}).create([{ text: 'a' }]),
    "allow it by the option multi: ['create'] of the service",
  ),
  warned(
    'many records of a caller outside that are not allowed',
    (app) => ask(serve(app), { url: '/messages', data: [{ text: 'a' }] }),
    "Can not create multiple entries: allow it by the option multi: ['create'] of the service | messages | create",
    '{"name":"MethodNotAllowed","message":"Can not create multiple entries","code":405,"className":"method-not-allowed"}',
  ),
  warned(
    'a patch of many that is not allowed',
    (app) => ask(serve(app), { method: 'PATCH', url: '/messages?text=a', data: { text: 'b' } }),
    "allow it by the option multi: ['patch'] of the service | messages | patch",
    '"message":"Can not patch multiple entries"',
  ),
  warned(
    '$regex without operators',
    (app) => ask(serve(app), { url: '/messages?text[$regex]=hunter2' }),
    "Invalid query parameter $regex: allow it by the option operators: ['$regex'] | messages | find",
    '{"name":"BadRequest","message":"Invalid query parameter $regex","code":400,"className":"bad-request"}',
  ),
  warned(
    '$search without filters',
    (app) => ask(serve(app), { url: '/messages?$search=hunter2' }),
    'Invalid filter value $search: name it in the option filters: { $search: true } | messages | find',
    '{"name":"BadRequest","message":"Invalid filter value $search","code":400,"className":"bad-request"}',
  ),
]
