import t from 'tap'

import {
  defaultAppConfiguration,
  defaultAppSettings,
  getValidator,
  Type,
} from '../../../../src/core/schema/index.ts'

const SETTINGS = {
  port: 3030,
  origins: ['http://localhost:3030'],
  paginate: { default: 10, max: 50 },
  mongodb: 'mongodb://127.0.0.1:27017/chat',
  authentication: {
    ...{ entity: 'user', service: 'users', secret: 's', authStrategies: ['jwt', 'local'] },
    jwtOptions: { header: { typ: 'access' }, expiresIn: '1d' },
    local: { usernameField: 'email', passwordField: 'password' },
  },
}

const VALIDATORS = [
  [
    'joined by TypeBox',
    getValidator(Type.Intersect([defaultAppConfiguration, Type.Object({ port: Type.Number() })])),
  ],
  [
    'spread in a JSON Schema',
    getValidator({
      type: 'object',
      additionalProperties: false,
      required: ['port'],
      properties: { ...defaultAppSettings, port: { type: 'number' } },
    }),
  ],
] as const

for (const [how, validate] of VALIDATORS) {
  t.test(`${how}: takes the settings of a generated application`, async (t) => {
    t.strictSame(await validate(structuredClone(SETTINGS)), SETTINGS)
  })

  t.test(`${how}: refuses others, by the place`, async (t) => {
    const refused = [
      [{ ...SETTINGS, paginate: { default: 10 } }, '/paginate'],
      [{ ...SETTINGS, authentication: { secret: 's' } }, '/authentication'],
      [{ ...SETTINGS, origins: 'http://localhost' }, '/origins'],
      [{ ...SETTINGS, port: '1' }, '/port'],
    ] as const
    for (const [settings, instancePath] of refused) {
      const error = await validate(settings).catch((thrown: unknown) => thrown)
      t.match(error, { data: [{ instancePath }] })
    }
  })
}
