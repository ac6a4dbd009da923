import t from 'tap'

import { getValidator, StringEnum, Type } from '../../../../src/core/schema/index.ts'

t.test('takes the strings that are named, and no others', async (t) => {
  const schema = Type.Object({
    level: StringEnum(['low', 'high'], { default: 'low', title: 'Level' }),
  })
  const validate = getValidator(schema)
  t.strictSame(await validate({}), { level: 'low' })
  t.strictSame(await validate({ level: 'high' }), { level: 'high' })
  await t.rejects(validate({ level: 'middle' }), { message: 'validation failed' })
  t.strictSame(JSON.parse(JSON.stringify(schema.properties.level)), {
    ...{ type: 'string', enum: ['low', 'high'] },
    ...{ default: 'low', title: 'Level' },
  })
})
