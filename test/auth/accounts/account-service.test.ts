import t from 'tap'
import { AccountService } from '../../../src/auth/index.ts'
import { createLoginApp } from '../login-app.ts'

const notify = () => undefined
const run = async () => null
const tokens = { createIndex: run, updateOne: run, findOneAndDelete: run }

t.test('options that can not work are refused by name', (t) => {
  const { app } = createLoginApp()
  const wrong: [object, RegExp][] = [
    [{ tokens }, /the option 'notify' is missing/],
    [{ notify }, /the option 'tokens' is missing/],
    [{ notify: 'mail', tokens }, /'notify' must be a function/],
    [{ notify, tokens: 'accountTokens' }, /'tokens' must be a collection/],
    [{ notify, tokens, expiresIn: '0s' }, /'expiresIn' must be at least a second/],
    [{ notify, tokens, expiresIn: 'soon' }, /takes seconds or a string/],
    [{ notify, tokens, expireIn: '1h' }, /'expireIn'.*did you mean 'expiresIn'/],
  ]
  for (const [options, message] of wrong) {
    t.throws(() => new AccountService(app, options as never), message)
  }
  t.end()
})

t.test('without users who log in by a password the start fails', async (t) => {
  const { app, authentication } = createLoginApp()
  const setup = (options: object) => new AccountService(app, { notify, tokens, ...options }).setup()
  await setup({})
  await t.rejects(setup({ strategy: 'jwt' }), /'jwt' is not a LocalStrategy of 'authentication'/)
  await app.unuse('authentication')
  await t.rejects(setup({}), /needs an authentication service/)
  app.use('authentication', authentication)
  await app.unuse('users')
  await t.rejects(setup({}), /needs a service of users with 'patch'/)
})
