import { AuthenticationService, authenticate, JWTStrategy } from '@feathersjs/authentication'
import { NotFound } from '@feathersjs/errors'

/** Adds the records that everybody may read and write. */
export function addRecords(app, { getRecord, findRecords, createRecord, toMissing }) {
  app.use('records', {
    async find({ query }) {
      return findRecords(query)
    },
    async get(id) {
      const record = getRecord(id)
      if (record === undefined) throw new NotFound(toMissing(id))
      return record
    },
    async create(data) {
      return createRecord(data)
    },
  })
}

/** Adds the same records for users with a token alone, as the generator of Feathers writes it. */
export function addProtectedRecords(app, { getRecord, getOwnRecord, auth }) {
  app.set('authentication', {
    secret: auth.secret,
    entity: 'user',
    entityId: 'id',
    service: 'users',
    authStrategies: ['jwt'],
    jwtOptions: {
      header: { typ: auth.type },
      audience: auth.audience,
      issuer: auth.issuer,
      algorithm: 'HS256',
      expiresIn: '1d',
    },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JWTStrategy())
  app.use('authentication', authentication)
  app.use('users', {
    async get(id) {
      const user = getRecord(id)
      if (user === undefined) throw new NotFound(`No record found for id '${id}'`)
      return user
    },
  })
  app.use('records', {
    async get(id, { user }) {
      return getOwnRecord(user, id)
    },
  })
  app.service('records').hooks({ around: { all: [authenticate('jwt')] } })
}

/** Resolves with the port once the server listens. */
export async function listen(app, { keepAliveMs }) {
  const server = await app.listen(0, '127.0.0.1')
  server.keepAliveTimeout = keepAliveMs
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  return server.address().port
}
