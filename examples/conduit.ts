// An API with a given wire format, a part of RealWorld's Conduit: envelopes, a token after sign-up,
// articles by slug, a feed, and the user at `/user`. Try the lines it prints.
// `npx tsx node_modules/remex/examples/conduit.ts`, after `npm install mongodb @fastify/swagger
// @fastify/swagger-ui yaml`. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded database by
// default) and AUTH_SECRET.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { FastifyApplication, HookContext, Page, Params } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, openapi, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
} from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewUser = Type.Object({
  email: Type.String({ format: 'email', maxLength: 254 }),
  username: Type.String({ minLength: 1, maxLength: 40 }),
  password: Type.String({ minLength: 8, maxLength: 200 }),
})
type NewUser = Static<typeof NewUser>
type User = NewUser & { readonly _id: ObjectId; readonly following?: string[] }

const PublicUser = Type.Object({
  email: NewUser.properties.email,
  username: NewUser.properties.username,
  token: Type.String({ description: 'For `Authorization: Bearer …`' }),
})

const NewArticle = Type.Object({
  title: Type.String({ minLength: 1, maxLength: 200 }),
  body: Type.String(),
  tagList: Type.Optional(Type.Array(Type.String(), { default: [] })),
})

/** A stored article. */
const StoredArticle = Type.Object({
  _id: ObjectIdSchema(),
  slug: Type.String(),
  ...NewArticle.properties,
  author: Type.String(),
  favoritedBy: Type.Array(Type.String()),
})
type Article = Static<typeof StoredArticle>

/** An article as callers get it. */
const Article = Type.Omit(StoredArticle, ['_id', 'favoritedBy'])

const OneUser = Type.Object({ user: PublicUser })

const OneArticle = Type.Object({ article: Article })

const ManyArticles = Type.Object({
  articles: Type.Array(Article),
  articlesCount: Type.Integer(),
})

const ArticleQuery = Type.Object({
  tag: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 0 })),
  offset: Type.Optional(Type.Integer({ minimum: 0 })),
})
type ArticleQuery = Static<typeof ArticleQuery>

const Profile = Type.Object({ username: Type.String(), following: Type.Boolean() })

/** `GET` and `PUT /user`: the user who is logged in. */
class AccountService {
  readonly #app: Conduit

  constructor(app: Conduit) {
    this.#app = app
  }

  async find(params: Params): Promise<User> {
    return this.#app.service('users').get(userOf(params)._id)
  }

  async update(_id: null, data: Partial<NewUser>, params: Params): Promise<User> {
    return this.#app.service('users').patch(userOf(params)._id, data)
  }
}

/** `POST` and `DELETE /articles/:slug/favorite`. */
class FavoriteService {
  readonly #app: Conduit

  constructor(app: Conduit) {
    this.#app = app
  }

  async create(_data: object, params: Params): Promise<Article> {
    const $addToSet = { favoritedBy: userOf(params).username }
    return this.#app.service('articles').patch(toSlug(params), { $addToSet })
  }

  async remove(_id: null, params: Params): Promise<Article> {
    const $pull = { favoritedBy: userOf(params).username }
    return this.#app.service('articles').patch(toSlug(params), { $pull })
  }
}

/** `POST` and `DELETE /profiles/:username/follow`. */
class FollowService {
  readonly #app: Conduit

  constructor(app: Conduit) {
    this.#app = app
  }

  async create(_data: object, params: Params): Promise<Static<typeof Profile>> {
    const username = params.route?.['username'] ?? ''
    await this.#app
      .service('users')
      .patch(userOf(params)._id, { $addToSet: { following: username } })
    return { username, following: true }
  }

  async remove(_id: null, params: Params): Promise<Static<typeof Profile>> {
    const username = params.route?.['username'] ?? ''
    await this.#app.service('users').patch(userOf(params)._id, { $pull: { following: username } })
    return { username, following: false }
  }
}

/** `GET /articles/feed`: articles of the authors that the caller follows. */
class FeedService {
  readonly #app: Conduit

  constructor(app: Conduit) {
    this.#app = app
  }

  async find(params: Params): Promise<Page<Article>> {
    const author = { $in: userOf(params).following ?? [] }
    const query = { ...params.query, author }
    return this.#app.service('articles').find({ query })
  }
}

export interface Services {
  users: MongoDBListService<User>
  user: AccountService
  articles: MongoDBService<Article>
  'articles/:slug/favorite': FavoriteService
  'articles/feed': FeedService
  'profiles/:username/follow': FollowService
  authentication: AuthenticationService
}

type Conduit = FastifyApplication<Services>

/** Unwraps the data of external calls: `{ article: { … } }`. */
function unwrap(name: string) {
  return (context: HookContext): void => {
    if (context.params.provider === undefined) return
    context.data = (context.data as Record<string, unknown>)[name]
  }
}

/** Wraps the responses to external calls. */
function wrap(name: string) {
  return (context: HookContext): void => {
    if (context.params.provider === undefined) return
    context.dispatch = { [name]: context.dispatch ?? context.result }
  }
}

/** Wraps a page in the envelope of lists. */
function wrapPage(context: HookContext): void {
  if (context.params.provider === undefined) return
  const { data, total } = context.result as { data: Article[]; total: number }
  context.dispatch = { articles: data, articlesCount: total }
}

/** Converts the parameters of the wire format to a query. */
function readParameters({ params }: HookContext): void {
  if (params.provider === undefined) return
  const { tag, limit = 20, offset = 0 } = params.query as ArticleQuery
  params.query = {
    ...(tag === undefined ? {} : { tagList: tag }),
    ...{ $limit: limit, $skip: offset, $sort: { slug: 1 } },
  }
}

/** Makes the slug from the title: callers do not choose it. */
function addSlug(context: HookContext): void {
  const { title } = context.data as Static<typeof NewArticle>
  const words = title.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const slug = [...words, randomBytes(3).toString('hex')].join('-')
  const { username: author } = userOf(context.params)
  context.data = Object.assign({ tagList: [] }, context.data, { slug, author, favoritedBy: [] })
}

/** Limits a removal to own articles, in the same database command. */
function onlyOwn({ params }: HookContext): void {
  params.query = { author: userOf(params).username }
}

function userOf({ user }: Params): User {
  if (user === undefined) throw new NotAuthenticated('Not authenticated')
  return user as User
}

function toSlug({ route }: Params): string {
  return route?.['slug'] ?? ''
}

/** Returns the application. */
export function createConduit(db: Db, secret: string): Conduit {
  const app: Conduit = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { audience: 'conduit', issuer: 'conduit', expiresIn: '1d' },
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)

  /** Logs users in when they sign up. */
  const addToken = async (context: HookContext): Promise<void> => {
    if (context.params.provider === undefined) return
    const user = context.result as User
    const token = await authentication.createAccessToken({}, { subject: String(user._id) })
    context.dispatch = { email: user.email, username: user.username, token }
  }

  app.use('users', new MongoDBService({ Model: db.collection<User>('users') }), {
    methods: ['create'],
    schemas: { create: Type.Object({ user: NewUser }), result: OneUser, query: Type.Object({}) },
  })
  app.service('users').hooks({
    before: {
      create: [unwrap('user'), hashPassword('password')],
      patch: [hashPassword('password')],
    },
    after: { create: [addToken, wrap('user')] },
  })

  app.use('user', new AccountService(app), {
    singleton: true,
    schemas: {
      update: Type.Object({ user: Type.Partial(NewUser) }),
      result: OneUser,
      query: Type.Object({}),
    },
  })
  app.service('user').hooks({
    around: { all: [authenticate('jwt')] },
    before: { update: [unwrap('user')] },
    after: { all: [addToken, wrap('user')] },
  })

  const articles = new MongoDBService({
    Model: db.collection<Article>('articles'),
    id: 'slug',
    // A hook makes the slug. Callers cannot send one, because no schema has the field.
    allowClientId: true,
    paginate: { default: 20, max: 100 },
  })
  app.use('articles', articles, {
    methods: ['find', 'get', 'create', 'remove'],
    schemas: {
      create: Type.Object({ article: NewArticle }),
      query: Type.Object({}),
      result: OneArticle,
      methods: { find: { query: ArticleQuery, result: ManyArticles } },
    },
  })
  app.service('articles').hooks({
    around: { create: [authenticate('jwt')], remove: [authenticate('jwt')] },
    before: {
      find: [readParameters],
      create: [unwrap('article'), addSlug],
      remove: [onlyOwn],
    },
    after: {
      find: [wrapPage],
      get: [wrap('article')],
      create: [wrap('article')],
      remove: [wrap('article')],
    },
  })

  app.use('articles/:slug/favorite', new FavoriteService(app), {
    singleton: true,
    schemas: { create: Type.Object({}), result: OneArticle, query: Type.Object({}) },
  })
  app.service('articles/:slug/favorite').hooks({
    around: { all: [authenticate('jwt')] },
    after: { all: [wrap('article')] },
  })

  app.use('articles/feed', new FeedService(app), {
    schemas: {
      methods: { find: { query: Type.Omit(ArticleQuery, ['tag']), result: ManyArticles } },
    },
  })
  app.service('articles/feed').hooks({
    around: { find: [authenticate('jwt')] },
    before: { find: [readParameters] },
    after: { find: [wrapPage] },
  })

  app.use('profiles/:username/follow', new FollowService(app), {
    singleton: true,
    schemas: {
      create: Type.Object({}),
      result: Type.Object({ profile: Profile }),
      query: Type.Object({}),
    },
  })
  app.service('profiles/:username/follow').hooks({
    around: { all: [authenticate('jwt')] },
    after: { all: [wrap('profile')] },
  })

  app.configure(openapi({ info: { title: 'Conduit', version: '1.0.0' } }))
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const db = mongo.db('remex_conduit')
  await db.collection('users').createIndex({ email: 1 }, { unique: true })
  await db.collection('articles').createIndex({ slug: 1 }, { unique: true })
  const app = createConduit(db, AUTH_SECRET ?? randomBytes(32).toString('base64url'))
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}`
  const json = "-H 'content-type: application/json'"
  console.log(`Conduit at ${url}, the API at ${url}/docs

  curl ${url}/users ${json} -d '{"user":{"email":"ann@example.org","username":"Ann","password":"correct horse"}}'
  curl ${url}/user -H "authorization: Bearer $TOKEN" # the token from the response
  curl '${url}/articles?limit=5'

Ctrl-C ends it.`)

  async function stop(): Promise<void> {
    await app.close()
    await mongo.close()
    await embedded?.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
