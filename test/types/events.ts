import { createApp } from '../../src/core/index.ts'
import type { Services, Settings, User, UserService } from './account-services.ts'
import { expectType } from './expect-type.ts'

const app = createApp<Services, Settings>()
const users = app.service('users')

users.on('created', (user, context) => {
  expectType<User>()(user)
  expectType<UserService>()(context.service)
  expectType<number>()(context.app.get('port'))
})
users.once('patched', (user) => expectType<User>()(user))
users.on('invited', (data) => expectType<unknown>()(data)).removeAllListeners('invited')
expectType<boolean>()(users.emit('invited', 1, 2))

// @ts-expect-error the record has no such property
users.on('created', (user) => user.mail)
// @ts-expect-error a listener is a function
users.on('created', 'user')

createApp()
  .service('x')
  .on('created', (data) => expectType<unknown>()(data))
