import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv, getValidator, schema } from '@feathersjs/schema'
import t from 'tap'
import {
  getValidator as getRemexValidator,
  Ajv as RemexAjv,
} from '../../../src/core/schema/index.ts'
import {
  BadRequest,
  configuration,
  createApp,
  fastifyApp,
  rest,
} from '../../../src/transport/index.ts'
import type { RecordingLogger } from '../../core/recording-logger.ts'
import { createLogger } from '../../core/recording-logger.ts'
import type { TestScope } from '../../support/http.ts'

/** Writes configuration files to a folder of its own and returns its path. */
async function writeFiles(t: TestScope, files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'remex-configuration-'))
  t.teardown(() => rm(directory, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  return directory
}

/** Sets a variable of the environment for one test. */
function setVariable(t: TestScope, name: string, value: string | undefined): void {
  const former = process.env[name]
  const set = (text: string | undefined): void => {
    if (text === undefined) delete process.env[name]
    else process.env[name] = text
  }
  set(value)
  t.teardown(() => set(former))
}

const DEFAULTS = JSON.stringify({
  port: 3030,
  authentication: { secret: 'default', jwtOptions: { expiresIn: '1d', issuer: 'remex' } },
})

t.test('sets the settings of an application from the default file', async (t) => {
  setVariable(t, 'NODE_ENV', undefined)
  const directory = await writeFiles(t, { 'default.json': DEFAULTS })
  const app = createApp().configure(configuration({ directory }))
  t.equal(app.get('port'), 3030)
  t.strictSame(app.get('authentication'), JSON.parse(DEFAULTS).authentication)
  t.equal(app.get('other'), undefined)
})

t.test('merges the file of the environment into the defaults', async (t) => {
  setVariable(t, 'NODE_ENV', 'production')
  const directory = await writeFiles(t, {
    'default.json': DEFAULTS,
    'production.json': '{"port":80,"authentication":{"jwtOptions":{"expiresIn":"1h"}}}',
    'development.json': '{"port":1}',
  })
  const app = createApp().configure(configuration({ directory }))
  t.equal(app.get('port'), 80)
  t.match(app.get('authentication'), {
    secret: 'default',
    jwtOptions: { expiresIn: '1h', issuer: 'remex' },
  })
})

t.test('takes secrets from variables of the environment that a file names', async (t) => {
  setVariable(t, 'REMEX_TEST_SECRET', 'from the environment')
  setVariable(t, 'REMEX_TEST_PORT', '8080')
  const directory = await writeFiles(t, {
    'default.json': DEFAULTS,
    'custom-environment-variables.json': JSON.stringify({
      port: { __name: 'REMEX_TEST_PORT', __format: 'json' },
      authentication: { secret: 'REMEX_TEST_SECRET' },
    }),
  })
  const app = createApp().configure(configuration({ directory }))
  t.equal(app.get('port'), 8080)
  t.match(app.get('authentication'), { secret: 'from the environment' })
})

t.test('reads the folder that NODE_CONFIG_DIR names', async (t) => {
  setVariable(t, 'NODE_CONFIG_DIR', await writeFiles(t, { 'default.json': '{"name":"named"}' }))
  t.equal(createApp().configure(configuration()).get('name'), 'named')
})

t.test('every call reads anew, so that applications do not share their settings', async (t) => {
  const first = await writeFiles(t, { 'default.json': '{"name":"first","list":{"a":1}}' })
  const second = await writeFiles(t, { 'default.json': '{"name":"second"}' })
  const one = createApp().configure(configuration({ directory: first }))
  const two = createApp().configure(configuration({ directory: second }))
  const three = createApp().configure(configuration({ directory: first }))
  t.strictSame([one.get('name'), two.get('name')], ['first', 'second'])
  t.not(one.get('list'), three.get('list'))
  t.equal(two.get('list'), undefined)
})

t.test('a folder without files sets nothing', async (t) => {
  const directory = await writeFiles(t, {})
  t.strictSame(Object.keys(createApp().configure(configuration({ directory })).settings), [])
})

t.test('a file that can not be read is an error that names it', async (t) => {
  const directory = await writeFiles(t, { 'default.json': '{"port":' })
  t.throws(() => createApp().configure(configuration({ directory })), /default\.json/)
})

t.test('a file with __proto__ at any depth is refused, pollutes nothing (FTH-11)', async (t) => {
  for (const text of ['{"__proto__":{"polluted":1}}', '{"a":[{"__proto__":{"polluted":1}}]}']) {
    const directory = await writeFiles(t, { 'default.json': text })
    const app = createApp()
    t.throws(
      () => app.configure(configuration({ directory })),
      /default\.json[\s\S]*__proto__ is not allowed/,
    )
    t.equal(({} as { polluted?: unknown }).polluted, undefined)
    t.strictSame(Object.keys(app.settings), [])
  }
})

const SCHEMA = {
  $id: 'configuration',
  type: 'object',
  required: ['port'],
  properties: {
    port: { type: 'number', maximum: 65535 },
    host: { type: 'string', default: 'localhost' },
    database: { type: 'object', properties: { poolSize: { type: 'number' } } },
  },
} as const

function createAjv(): Ajv {
  return new Ajv({ coerceTypes: true, useDefaults: true })
}

/** The ways to say how settings are checked. */
const VALIDATORS = {
  'getValidator() of @feathersjs/schema': () => getValidator(SCHEMA, createAjv()),
  'getValidator() of remex/schema': () =>
    getRemexValidator(SCHEMA, new RemexAjv({ coerceTypes: true, useDefaults: true })),
  'schema() of @feathersjs/schema': () => schema({ ...SCHEMA, $async: true }, createAjv()),
  'a function of Ajv': () => createAjv().compile(SCHEMA),
  'the option validate': () => ({ validate: createAjv().compile(SCHEMA) }),
} as const

for (const [name, createValidator] of Object.entries(VALIDATORS)) {
  t.test(`checks the settings at the setup, and uses what comes of it: ${name}`, async (t) => {
    const text = '{"port":"3030","database":{"poolSize":"5"},"secret":"kept"}'
    setVariable(t, 'NODE_CONFIG_DIR', await writeFiles(t, { 'default.json': text }))
    const app = createApp().configure(configuration(createValidator() as object))
    t.equal(app.get('port'), '3030')

    await app.setup()
    t.same(
      ['port', 'host', 'database', 'secret'].map((setting) => app.get(setting)),
      [3030, 'localhost', { poolSize: 5 }, 'kept'],
    )
  })

  t.test(`settings that are not valid end the start: ${name}`, async (t) => {
    setVariable(t, 'NODE_CONFIG_DIR', await writeFiles(t, { 'default.json': '{"port":"99999"}' }))
    const app = fastifyApp(createApp()).configure(rest())
    app.configure(configuration(createValidator() as object))
    const setUp: string[] = []
    app.use('todos', { find: async () => [], setup: async () => void setUp.push('todos') })

    const message = 'The configuration is not valid: /port must be <= 65535'
    await t.rejects(app.listen(0), { message })
    t.same(setUp, [])
  })
}

t.test('a check may return other settings, and leaves those the application set', async (t) => {
  const directory = await writeFiles(t, { 'default.json': '{"port":1,"host":"a","name":"n"}' })
  const validate = async (settings: object) => ({ ...settings, port: 2, host: 'b', extra: true })
  const app = createApp().configure(configuration({ directory, validate }))
  app.set('port', 3)
  await app.setup()
  t.same({ ...app.settings }, { port: 3, host: 'b', name: 'n', extra: true })
})

t.test('what a check throws or refuses is told, without the settings', async (t) => {
  const directory = await writeFiles(t, { 'default.json': '{"secret":"hunter2"}' })
  const cases: [() => unknown, string][] = [
    [() => false, 'the check rejected it'],
    [() => Promise.reject(new Error('no port')), 'no port'],
    [() => Promise.reject(undefined), 'the check rejected it'],
  ]
  for (const [validate, problem] of cases) {
    const app = createApp().configure(configuration({ directory, validate }))
    await t.rejects(app.setup(), { message: `The configuration is not valid: ${problem}` })
  }
})

t.test('a validator of remex/schema alone sets defaults and converts nothing', async (t) => {
  const files = { 'default.json': '{"port":3030}' }
  const validate = getRemexValidator(SCHEMA)
  const app = createApp()
  app.configure(configuration({ directory: await writeFiles(t, files), validate }))
  await app.setup()
  t.equal(app.get('host'), 'localhost')

  const directory = await writeFiles(t, { 'default.json': '{"port":"3030"}' })
  const other = createApp().configure(configuration({ directory, validate }))
  await t.rejects(other.setup(), {
    message: 'The configuration is not valid: /port must be number',
  })
})

t.test('returns the settings, without an application too', async (t) => {
  const directory = await writeFiles(t, { 'default.json': '{"port":3030,"database":{"a":1}}' })
  const settings = { port: 3030, database: { a: 1 } }
  t.strictSame(configuration({ directory })(), settings)
  t.strictSame(configuration({ directory })(undefined), settings)
  const app = createApp()
  t.strictSame(configuration({ directory })(app), settings)
  t.strictSame({ ...app.settings }, settings)
})

t.test('what a check has found is the data of the error, without the values', async (t) => {
  const directory = await writeFiles(t, { 'default.json': '{"port":"hunter2"}' })
  const finding = {
    instancePath: '/port',
    schemaPath: '#/properties/port/type',
    keyword: 'type',
    params: { type: 'number' },
    message: 'must be number',
  }
  const ofFeathers = schema({ ...SCHEMA, $async: true }, new Ajv())
  for (const validate of [
    getValidator(SCHEMA, new Ajv()),
    getRemexValidator(SCHEMA),
    (settings: never) => ofFeathers.validate(settings),
    new Ajv({ verbose: true }).compile(SCHEMA),
  ]) {
    const app = createApp()
    app.configure(configuration({ directory, validate: validate as never }))
    const error = (await app.setup().catch((reason: unknown) => reason)) as { data?: unknown }
    t.strictSame(error.data, [finding])
    t.strictSame(JSON.stringify(error.data).includes('hunter2'), false)
  }
  const validate = async () => Promise.reject(new BadRequest('no', { port: 'taken' }))
  const app = createApp().configure(configuration({ directory, validate }))
  const error = (await app.setup().catch((reason: unknown) => reason)) as { data?: unknown }
  t.strictSame(error.data, { port: 'taken' })
})

t.test('refuses an option that it does not know', async (t) => {
  t.throws(() => configuration({ dir: 'settings' } as object), {
    name: 'TypeError',
    message: "configuration(): unknown option 'dir', allowed are directory, validate",
  })
  t.throws(() => configuration({ validate: {} } as object), { name: 'TypeError' })
})

t.test('takes settings from NODE_CONFIG over those of the files', async (t) => {
  setVariable(t, 'NODE_CONFIG', '{"port":80,"authentication":{"secret":"other"}}')
  const directory = await writeFiles(t, { 'default.json': DEFAULTS })
  const app = createApp().configure(configuration({ directory }))
  t.equal(app.get('port'), 80)
  t.match(app.get('authentication'), { secret: 'other', jwtOptions: { issuer: 'remex' } })
})

t.test('refuses a NODE_CONFIG that is no object, and repeats nothing of it', async (t) => {
  const directory = await writeFiles(t, {})
  for (const text of ['hunter2', '"hunter2"', '["hunter2"]', 'null', '{"__proto__":{"a":1}}']) {
    setVariable(t, 'NODE_CONFIG', text)
    const configure = () => createApp().configure(configuration({ directory }))
    t.throws(configure, { name: 'TypeError', message: /^(?!.*hunter2).*NODE_CONFIG/ })
  }
})

t.test('warns of nothing where an environment needs no file, or has one', async (t) => {
  const directory = await writeFiles(t, { 'default.json': DEFAULTS, 'local-staging.json': '{}' })
  for (const environment of [undefined, 'development', 'test', 'production', 'staging']) {
    setVariable(t, 'NODE_ENV', environment)
    const app = createApp()
    app.logger = createLogger()
    app.configure(configuration({ directory }))
    t.strictSame((app.logger as RecordingLogger).entries, [])
  }
})
