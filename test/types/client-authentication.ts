import type { AuthenticationService } from '../../src/auth/index.ts'
import type { LoginMembers, LoginResult } from '../../src/client/index.ts'
import { AuthenticationClient, authentication, createClient, rest } from '../../src/client/index.ts'
import { createApp } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

interface Services {
  notes: { find(): Promise<string[]> }
  authentication: AuthenticationService
}

class OwnService {
  async create(_data: object) {
    return { accessToken: '', user: { id: 1, since: new Date() } }
  }
}

interface OwnServices {
  authentication: OwnService
}

const credentials = { strategy: 'local', email: 'a@example.org', password: 'b' }

// The same client, with or without a chain
const client = createClient<Services>({ baseURL: 'http://localhost' })
client.configure(authentication({ storageKey: 'token' }))
const result = await client.authenticate(credentials)
expectType<string>()(result.accessToken)
expectType<string>()(result.authentication.strategy)
expectType<string | undefined>()(result.authentication.payload?.sub)
expectType<Promise<string[]>>()(
  createClient<Services>().configure(authentication()).service('notes').find(),
)
expectType<AuthenticationClient>()(client.authentication)

// The user: known by the type of the service
expectType<unknown>()(result.user)
const own = await createClient<OwnServices>().authenticate(credentials)
expectType<{ id: number; since: string }>()(own.user)
expectType<unknown>()((await createClient().authenticate(credentials)).user)
expectType<Promise<LoginResult<{ id: number; since: string }> | null>>()(
  createClient<OwnServices>().logout(),
)

// Arguments
client.authenticate()
client.authenticate(credentials, { headers: { 'x-a': 'b' }, connection: { timeoutMs: 5 } })
client.reAuthenticate(true, 'jwt')
// @ts-expect-error the strategy is missing
client.authenticate({ email: 'a@example.org', password: 'b' })
// @ts-expect-error set by the server
client.authenticate(credentials, { provider: 'rest' })
// @ts-expect-error takes nothing
client.logout(true)

// Options
declare const page: Storage
interface Storage {
  readonly length: number
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
  [name: string]: unknown
}
authentication({ storage: page, storageKey: undefined })
// @ts-expect-error no such option
authentication({ storge: page })
// @ts-expect-error no storage
authentication({ storage: {} })

class Own extends AuthenticationClient {
  override reAuthenticate() {
    return this.authenticate(credentials)
  }
}
authentication({ Authentication: Own })

// Any application
const app = createApp().configure(rest('/').fetch(fetch)).configure(authentication())
const { user } = await (app as typeof app & LoginMembers<OwnServices>).authenticate(credentials)
expectType<{ id: number; since: string }>()(user)
