import t from 'tap'

import {
  Ajv,
  DateSchema,
  getValidator,
  keywordDate,
  Type,
} from '../../../../src/core/schema/index.ts'

const SCHEMA = Type.Object({ at: DateSchema() })
const validate = getValidator(SCHEMA)

t.test('puts a Date in the place of a date and time', async (t) => {
  const texts = {
    '2026-01-31T12:00:00Z': '2026-01-31T12:00:00.000Z',
    '2026-01-31t12:00:00.5z': '2026-01-31T12:00:00.500Z',
    '2026-01-31T12:00:00.123456789+02:00': '2026-01-31T10:00:00.123Z',
    '2024-02-29T23:59:59-00:30': '2024-03-01T00:29:59.000Z',
    '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
  }
  for (const [at, expected] of Object.entries(texts)) {
    const data = { at }
    t.equal(await validate(data), data, 'the data itself')
    t.strictSame(data, { at: new Date(expected) }, at)
  }
})

t.test('takes a Date as it is', async (t) => {
  const at = new Date()
  t.equal((await validate({ at })).at, at)
})

t.test('refuses every other value, and names the place', async (t) => {
  const others = [
    ...['', 'never', '2026-01-31', '2026-01-31T12:00:00', '2026-01-31 12:00:00Z', '20260131'],
    ...[
      '2026-02-30T00:00:00Z',
      '2025-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-05-00T00:00:00Z',
      '2026-99-15T00:00:00Z',
    ],
    ...['2026-01-31T24:00:00Z', '2026-12-31T23:59:60Z', '2026-01-31T12:00:00+25:00'],
    ...['2026-01-31T12:00:00Z\n', ' 2026-01-31T12:00:00Z', '+002026-01-31T12:00:00Z'],
    ...[0, true, null, [], {}, new Date(Number.NaN), { toISOString: '2026-01-31T12:00:00Z' }],
  ]
  for (const at of others) {
    const issue = {
      instancePath: '/at',
      keyword: 'date',
      message: 'must be a date and time like 2026-01-31T12:00:00Z',
    }
    const data = { at }
    await t.rejects(validate(data), { code: 400, data: [issue] }, JSON.stringify(at))
    t.equal(data.at, at)
  }
})

t.test('refuses a string that is the whole data, as nothing holds it', async (t) => {
  await t.rejects(getValidator(DateSchema())('2026-01-31T12:00:00Z'), { code: 400 })
})

t.test('is plain JSON Schema, for an Ajv of your own as well', async (t) => {
  t.strictSame(JSON.parse(JSON.stringify(DateSchema({ title: 'Day' }))), {
    title: 'Day',
    date: true,
  })
  const compiled = new Ajv().addKeyword(keywordDate).compile(SCHEMA)
  const data = { at: '2026-01-31T12:00:00Z' }
  t.equal(compiled(data), true)
  t.strictSame(data, { at: new Date('2026-01-31T12:00:00Z') })
})

t.test('is switched off by false', async (t) => {
  const off = getValidator({ type: 'object', properties: { at: { date: false } } })
  t.strictSame(await off({ at: 'never' }), { at: 'never' })
})
