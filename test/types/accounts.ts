import type { AccountNotice, AccountService } from '../../src/auth/index.ts'
import { createClient } from '../../src/client/index.ts'
import { expectType } from './expect-type.ts'

// Clients call the methods of accounts by their data
const methods = { accounts: ['requestReset', 'resetPassword'] } as const
const client = createClient<{ accounts: AccountService }, typeof methods>({ methods })
const accounts = client.service('accounts')
expectType<Promise<object>>()(accounts.requestReset({ email: 'a@example.org' }))
expectType<Promise<object>>()(accounts.resetPassword({ token: 'a', password: 'b' }))
// @ts-expect-error a field is missing
accounts.resetPassword({ token: 'a' })
// @ts-expect-error it is not in the list
accounts.teardown()

// A notice has a token where there is something to do
const tokenOf = (notice: AccountNotice) => (notice.kind === 'reset' ? notice.token : null)
expectType<string | null>()(tokenOf({ kind: 'reset', email: '', user: {}, token: 'a' }))
