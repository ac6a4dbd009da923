import type { HookContext as FeathersContext } from '@feathersjs/feathers'
import * as schema from '@feathersjs/schema'
import type { ValidatorFn } from 'feathers-hooks-common'
import * as common from 'feathers-hooks-common'
import * as utils from 'feathers-utils'
import type { Collection, ObjectId } from 'mongodb'

import { MongoDBService } from '../../src/adapter/index.ts'
import { authenticate, hashPassword, passwordHash, protect } from '../../src/auth/index.ts'
import type { Hook, HookContext } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { User, UserService } from './account-services.ts'

// Hooks of other packages stand in hook maps as they are, without casts.

interface Post {
  _id: ObjectId
  title: string
  ownerId: ObjectId
}

declare const Model: Collection<Post>
declare const validator: schema.Validator
declare const schemas: schema.DataValidatorMap
// The version that the package has a copy of: the class of another one does not fit it.
declare const ajv: common.AjvOrNewable
const posts = new MongoDBService({ Model, paginate: { default: 10 } })
const app = createApp<{ users: UserService; posts: typeof posts }>()
declare const graph: common.FGraphQLHookOptions
const map = new Map<string | number, unknown>()
const isSmall: ValidatorFn = (values: { size: number }) =>
  values.size < 3 ? null : { size: 'is too large' }

// feathers-hooks-common
app.service('posts').hooks({
  before: {
    all: [
      common.debug('call', 'params.query'),
      common.disallow('socketio'),
      common.iff(common.isProvider('external'), common.discard('secret')).else(),
      common.iffElse(true, common.keep('title'), [common.discard('secret')]),
      common.unless(common.isProvider('server'), common.keep('title')),
      common.when(common.isNot(common.isProvider('server')), common.required('title')),
      common.iff(
        common.every(common.isProvider('rest'), () => true),
        common.setNow('at'),
      ),
      common.iff(
        common.some(common.isProvider('rest'), async () => true),
        common.setNow('at'),
      ),
      common.combine(common.setNow('at'), common.lowerCase('title')),
      common.traverse(() => undefined),
      common.paramsFromClient('lang'),
      common.softDelete({ deletedQuery: { deleted: null } }),
    ],
    find: [
      common.disablePagination(),
      common.discardQuery('debug'),
      common.keepQuery('title'),
      common.keepQueryInArray('$or', ['title']),
      common.setSlug('shopId'),
    ],
    get: [common.cache(map), common.keepQuery('$select')],
    create: [
      common.alterItems((post: Post) => ({ ...post, title: post.title.trim() })),
      common.discard('role'),
      common.keep('title'),
      common.keepInArray('tags', ['name']),
      common.lowerCase('title'),
      common.required('title'),
      common.setField({ from: 'params.user.id', as: 'data.ownerId' }),
      common.setNow('at'),
      common.validate(isSmall),
      common.validateSchema({ type: 'object' }, ajv),
    ],
    update: common.setNow('at'),
    patch: [common.preventChanges(true, 'ownerId'), common.stashBefore('old')],
    remove: [common.disallow('external'), common.stashBefore()],
  },
  after: {
    all: [
      common.actOnDispatch(common.discard('secret')),
      common.actOnDefault(common.discard('secret')),
      common.dePopulate(),
      common.sequelizeConvert({ at: 'date' }),
    ],
    find: [
      common.sifter(() => (post: Post) => post.title !== ''),
      common.populate({ schema: { include: { service: 'users', nameAs: 'owner' } } }),
      common.serialize({ only: ['title'], computed: { short: () => 1 } }),
    ],
    get: [
      common.fastJoin({ joins: { owner: () => async () => undefined } }),
      common.runParallel(common.debug('later')),
      common.fgraphql(graph),
      common.cache(map, '_id'),
    ],
    create: common.mongoKeys(Object, ['ownerId']),
  },
  error: { all: [common.debug('error', 'error')], get: common.alterItems((item) => item) },
})
app.service('users').hooks({
  before: {
    all: [common.disallow('rest'), common.iff(common.isProvider('rest'), common.discard('role'))],
    find: [common.disablePagination()],
    get: common.discardQuery('debug'),
    create: [common.required('email'), common.setNow('at'), common.lowerCase('email')],
    patch: [common.preventChanges(true, 'email'), common.stashBefore()],
    invite: [common.required('to')],
  },
  after: [common.discard('password')],
})
app.hooks({
  before: { all: [common.disallow('socketio')], get: common.cache(map) },
  after: [common.discard('password')],
})
createApp()
  .service('any')
  .hooks({ before: { get: [common.stashBefore()] } })

// What a hook of theirs gets is of no known type: they infer none from where they stand.
app.service('posts').hooks({
  before: { patch: [common.iff((context) => context.params.old === 1, common.discard('title'))] },
})
// The hooks of remex/auth fit inside of theirs.
app.service('users').hooks({
  before: {
    all: [common.iff(common.isProvider('external'), authenticate('jwt'), common.discard('role'))],
    create: [common.unless(common.isProvider('server'), hashPassword('password'))],
  },
  after: { all: [common.iff(common.isProvider('external'), protect('password'))] },
})
// Hooks of one's own inside of theirs are typed for the contexts of Feathers, or theirs for any.
declare const own: Hook
// biome-ignore lint/suspicious/noExplicitAny: no other context is one of Feathers and of Remex
app.service('users').hooks({ before: { all: [common.iff<any>(true, own)] } })
const log = (context: FeathersContext) => void context.path
app.service('posts').hooks({ before: { get: [common.iff(true, log), log] } })

// feathers-utils
app.service('posts').hooks({
  before: {
    all: [utils.checkMulti(), utils.paramsFromClient('lang'), utils.paramsForServer('lang')],
    create: [
      utils.forEach((post: Post) => void post.title, { wait: 'sequential' }),
      utils.parseFields('number', { fields: ['likes'] }),
      utils.setData('params.user.id', 'ownerId'),
    ],
    patch: [
      (context) => void utils.markHookForSkip('checkMulti', 'before', unknownContext(context)),
    ],
  },
  after: {
    create: [
      utils.createRelated({ service: 'users', data: (post: Post) => ({ title: post.title }) }),
      utils.runPerItem((post: Post) => post.title),
    ],
    remove: [
      utils.onDelete({ service: 'users', keyHere: '_id', keyThere: 'postId', onDelete: 'cascade' }),
      utils.removeRelated({ service: 'users', keyHere: '_id', keyThere: 'postId' }),
    ],
    find: [utils.toJSON, utils.setResultEmpty],
  },
})
// Functions of the packages that take a context want one of Feathers, of which `app` and `id` differ.
declare function unknownContext(context: object): FeathersContext

// @feathersjs/schema, with resolvers for the contexts of Feathers
const resolver = schema.resolve<User, FeathersContext>({
  email: async (email, _user, context) => (context.params.provider ? undefined : email),
})
const withPassword = schema.resolve<{ password: string }, FeathersContext>({
  password: passwordHash({ strategy: 'local' }),
})
app.service('users').hooks({ before: { create: [schema.resolveData(withPassword)] } })
// The service has a type there; the application can not have that of Remex.
// biome-ignore lint/suspicious/noExplicitAny: their factories ask for an application of Feathers
type ResolverContext<S> = FeathersContext<any, S>
const ofUsers = schema.resolve<User, ResolverContext<UserService>>({
  email: async (email, user, { service }) => email ?? (await service.get(user.id)).email,
})
app.service('users').hooks({
  around: { all: [schema.resolveExternal(ofUsers), schema.resolveResult(ofUsers)] },
  before: { create: [schema.resolveData(ofUsers)], find: schema.resolveQuery(ofUsers) },
})
for (const path of ['users', 'posts'] as const) {
  app.service(path).hooks({
    around: {
      all: [schema.resolveExternal(resolver), schema.resolveResult(resolver)],
      find: [schema.resolveAll({ result: resolver, query: resolver })],
      get: schema.resolveDispatch(resolver),
      create: [schema.validateData(schemas), schema.resolveData(resolver)],
      patch: [
        schema.validateData(schemas),
        schema.resolveData(resolver),
        schema.validateQuery(validator),
      ],
    },
    before: {
      all: [schema.validateQuery(validator), schema.resolveQuery(resolver)],
      create: [schema.validateData(schemas), schema.resolveData(resolver)],
      patch: [schema.validateData(schemas), schema.resolveData(resolver)],
      find: schema.validateQuery(validator),
    },
  })
}

// Hooks of one's own are checked as before.
declare const ofPatch: Hook<UserService, 'patch'>
declare const forUsers: (context: HookContext<UserService>) => void
// @ts-expect-error a hook for another method
app.service('users').hooks({ before: { find: [ofPatch, common.setNow('at')] } })
// @ts-expect-error a hook for another service
app.service('posts').hooks({ before: { find: [forUsers, common.setNow('at')] } })
// @ts-expect-error an around hook waits for next, which is not there
app.service('posts').hooks({ before: { find: [schema.resolveExternal(resolver)] } })
declare const ofRemex: schema.Resolver<User, HookContext<UserService>>
// @ts-expect-error the factories take resolvers for the contexts of Feathers alone
schema.resolveExternal(ofRemex)
// @ts-expect-error a factory that was not called
app.service('posts').hooks({ before: { find: [common.disallow] } })
