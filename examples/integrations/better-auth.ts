// better-auth logs people in, and services trust its sessions. Both use one database.
import type { Auth } from 'better-auth'
import { betterAuth } from 'better-auth'
import { mongodbAdapter } from 'better-auth/adapters/mongodb'
import type { MongoClient } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { AuthenticationRequest, FastifyApplication } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, rest } from 'remex'
import type { AuthenticationHttpRequest, AuthenticationResult } from 'remex/auth'
import { AuthenticationBaseStrategy, AuthenticationService, authenticate } from 'remex/auth'
import type { MongoDBListService } from 'remex/mongodb'
import { createdBy, limitTo, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const NewNote = Type.Object({ text: Type.String() })
const Note = Type.Object({
  _id: ObjectIdSchema(),
  ...NewNote.properties,
  createdBy: ObjectIdSchema(),
})
type Note = Static<typeof Note>

export interface User {
  readonly _id: ObjectId
  readonly email: string
}

type Services = {
  notes: MongoDBListService<Note>
  authentication: AuthenticationService
}

/** Accepts the session cookie of better-auth. */
class BetterAuthStrategy extends AuthenticationBaseStrategy {
  readonly securityScheme = { type: 'apiKey', in: 'cookie', name: 'better-auth.session_token' }
  readonly #auth: Pick<Auth, 'api'>
  readonly #origin: string

  constructor(auth: Pick<Auth, 'api'>, origin: string) {
    super()
    this.#auth = auth
    this.#origin = origin
  }

  parse({ headers, method = '' }: AuthenticationHttpRequest): AuthenticationRequest | null {
    const { cookie, origin } = headers
    if (!String(cookie).includes('better-auth.session_token=')) return null
    // Browsers send cookies with the forms of other sites, too.
    if (!['GET', 'HEAD'].includes(method) && origin !== this.#origin) return null
    return { strategy: this.name, cookie }
  }

  async authenticate({ cookie }: AuthenticationRequest): Promise<AuthenticationResult> {
    const headers = new Headers({ cookie: String(cookie) })
    const found = await this.#auth.api.getSession({ headers })
    if (found === null) throw new NotAuthenticated('Log in first')
    // Each key becomes one of the params: hooks and services find `params.user`.
    const user: User = { ...found.user, _id: new ObjectId(found.user.id) }
    return { authentication: { strategy: this.name }, user }
  }
}

/** Returns the application. `url` is its public address. */
export function createNotes(
  client: MongoClient,
  url: string,
  secret: string,
): FastifyApplication<Services> {
  const db = client.db('remex_better_auth')
  const auth = betterAuth({
    baseURL: url,
    secret,
    database: mongodbAdapter(db, { client }),
    emailAndPassword: { enabled: true },
  })
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.fastify.route({
    method: ['GET', 'POST'],
    url: '/api/auth/*',
    handler: async ({ method, url: path, headers, body }) => {
      const given = new Headers(headers as Record<string, string>)
      given.delete('content-length')
      const init = { method, headers: given }
      const text = body === undefined ? {} : { body: JSON.stringify(body) }
      return auth.handler(new Request(new URL(path, url), { ...init, ...text }))
    },
  })

  const authentication = new AuthenticationService(app, 'authentication', {
    secret,
    entity: null,
    parseStrategies: ['better-auth'],
  })
  authentication.register('better-auth', new BetterAuthStrategy(auth, new URL(url).origin))
  // Without methods, it serves no logins.
  app.use('authentication', authentication, { methods: [] })

  app.use('notes', new MongoDBService({ Model: db.collection<Note>('notes') }), {
    schemas: { entity: Note, create: NewNote },
  })
  app.service('notes').hooks({
    around: { all: [authenticate('better-auth')] },
    before: {
      all: [limitTo(({ user }) => ({ createdBy: (user as User)._id })), createdBy()],
    },
  })
  return app
}
