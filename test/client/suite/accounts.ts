import {
  AuthenticationBaseStrategy,
  AuthenticationService,
  authenticate as authenticateFeathers,
  JWTStrategy,
} from '@feathersjs/authentication'
import { NotAuthenticated } from '@feathersjs/errors'
import type { Application as FeathersApplication } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'
import { authenticate } from '../../../src/auth/index.ts'
import type { Application, Params } from '../../../src/core/index.ts'
import { addAccounts } from '../../support/accounts.ts'
import { CREDENTIALS, SECRET } from '../../support/users.ts'

/** The only user, who logs in by {@link CREDENTIALS}. */
const USER = { id: 1, email: CREDENTIALS.email }

/** Says who its caller is; only members may call it. */
const members = {
  async find({ provider, authentication, user }: Params = {}): Promise<object> {
    const { strategy, payload } = authentication as { strategy: string; payload: { sub: string } }
    return { provider, strategy, sub: payload.sub, email: (user as { email?: string }).email }
  },
}

/** Adds logins to an application of our own. Returns what adds the user. */
export function addRemexAccounts(app: Application): () => Promise<void> {
  const { addUser } = addAccounts(app)
  app.use('members', members)
  app.service('members').hooks({ before: { all: [authenticate('jwt')] } })
  return () => addUser(USER)
}

/** Compares passwords as they are: how they are kept is no matter of clients. */
class PasswordStrategy extends AuthenticationBaseStrategy {
  async authenticate({ email, password }: Record<string, unknown>): Promise<object> {
    if (email !== CREDENTIALS.email || password !== CREDENTIALS.password) {
      throw new NotAuthenticated('Invalid login')
    }
    return { authentication: { strategy: 'local' }, user: USER }
  }
}

/** Adds the same logins to an application of Feathers. */
export async function addFeathersAccounts(app: FeathersApplication): Promise<void> {
  const authStrategies = ['jwt', 'local']
  const settings = { secret: SECRET, entity: 'user', service: 'users', authStrategies }
  app.set('authentication', settings)
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JWTStrategy())
  authentication.register('local', new PasswordStrategy())
  app.use('authentication', authentication)
  const users = new MemoryService()
  await users.create(USER)
  app.use('users', users)
  app.use('members', members)
  app.service('members').hooks({ before: { all: [authenticateFeathers('jwt')] } })
}
