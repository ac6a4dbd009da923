import t from 'tap'

import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
} from '../../../src/auth/index.ts'
import type { Application, HookOptions, ServiceOptions } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { createLogger } from '../../core/recording-logger.ts'
import { SECRET } from '../../support/users.ts'

type Hooks = HookOptions<object, Application, string>

interface Case {
  readonly hooks: Hooks
  readonly ofApp?: Hooks
  readonly options?: ServiceOptions
  /** The methods that the warning names; `undefined` for no warning. */
  readonly open?: string
}

const guard = [authenticate('jwt')]
const other = [() => undefined]

const CASES: Readonly<Record<string, Case>> = {
  'update is forgotten': {
    hooks: { before: { patch: guard, remove: guard } },
    open: 'update',
  },
  'one of three is guarded': {
    hooks: { around: { patch: guard } },
    open: 'update and remove',
  },
  'around hooks in short': { hooks: { patch: guard, update: guard }, open: 'remove' },
  'a hook for all that is no guard': {
    hooks: { before: { all: other, patch: guard, update: guard } },
    open: 'remove',
  },
  'an after hook is no guard': {
    hooks: { before: { patch: guard, update: guard }, after: { remove: other } },
    open: 'remove',
  },
  'hooks that refuse nobody': {
    hooks: { before: { update: [hashPassword('password')], patch: guard, remove: guard } },
    open: 'update',
  },
  'create alone is guarded': {
    hooks: { before: { create: guard } },
    open: 'update, patch and remove',
  },
  'create is guarded, and the others that are for callers outside': {
    hooks: { before: { create: guard, remove: guard } },
    options: { methods: ['find', 'create', 'remove'] },
  },
  'creating is open to everybody': {
    hooks: { before: { update: guard, patch: guard, remove: guard } },
  },
  'reading is guarded': { hooks: { before: { find: guard, get: guard } } },
  'all methods are guarded': { hooks: { around: { all: guard, patch: guard } } },
  'the application is guarded': {
    hooks: { before: { patch: guard } },
    ofApp: { before: { all: guard } },
  },
  'another hook may guard': {
    hooks: { before: { patch: guard, update: other, remove: other } },
  },
  'the others are not for callers outside': {
    hooks: { before: { patch: guard } },
    options: { methods: ['patch'] },
  },
}

for (const [title, { hooks, ofApp, options, open }] of Object.entries(CASES)) {
  t.test(
    `the start ${open === undefined ? 'says nothing' : `names ${open}`}: ${title}`,
    async (t) => {
      const app = createApp()
      const logger = createLogger()
      app.logger = logger
      const authentication = new AuthenticationService(app, 'authentication', {
        secret: SECRET,
        entity: null,
        authStrategies: ['jwt'],
      })
      app.use('authentication', authentication.register('jwt', new JwtStrategy()))
      const one = async (): Promise<object> => ({})
      const methods = { find: one, get: one, create: one, update: one, patch: one, remove: one }
      app.use('notes', methods, options)
      app.service('notes').hooks(hooks as never)
      if (ofApp !== undefined) app.hooks(ofApp as never)
      await app.setup()
      const texts = logger.entries.map(({ message = '' }) => message)
      t.equal(texts.length, open === undefined ? 0 : 1, texts.join())
      if (open !== undefined) t.match(texts[0], `Of 'notes', ${open} lack`)
    },
  )
}
