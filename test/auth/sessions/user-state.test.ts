import t from 'tap'
import { UserState } from '../../../src/auth/sessions/user-state.ts'

const FIELDS = { passwords: ['password', 'profile.pin'], names: ['email', 'profile.phone'] }
const KEYS = [Buffer.from('a key')]
const USER = { email: 'ann@example.org', password: 'a hash', profile: { pin: 'a', phone: 7 } }

const toState = (record: object | null, keys = KEYS) => new UserState(FIELDS, record as never, keys)

t.test('names the field that has changed, also below a dotted path', (t) => {
  const before = toState(USER)
  const { profile } = USER
  const cases: [record: object, field: string | null][] = [
    [{ ...USER, nickname: 'Ann', isActive: true }, null],
    [{ ...USER, password: 'b' }, 'password'],
    [{ ...USER, password: undefined }, 'password'],
    [{ ...USER, profile: { ...profile, pin: 'b' } }, 'profile.pin'],
    [{ ...USER, profile: { ...profile, phone: '7' } }, 'profile.phone'],
    [{ ...USER, profile: null }, 'profile.pin'],
    [{ ...USER, isActive: 0 }, 'isActive'],
  ]
  for (const [record, field] of cases) t.equal(toState(record).findChange(before.marks), field)
  t.equal(toState(USER).findChange(toState({ ...USER, isActive: false }).marks), null)
  t.equal(toState({ ...USER, isActive: false }).findChange(undefined), 'isActive')
  t.equal(toState(USER).findChange(undefined), null, 'a session without marks')
  t.end()
})

t.test('a value of one field is none of another, and no code without the key', (t) => {
  const same = { email: 'x', password: 'x', profile: { pin: 'x', phone: 'x' } }
  const marks = Object.values(toState(same).marks)
  t.equal(new Set(marks).size, 5)
  t.notOk(JSON.stringify(marks).includes('"x'))
  t.notMatch(toState(same, [Buffer.from('another')]).marks, toState(same).marks)
  t.end()
})

t.test('knows the fields of a part of a record, and accepts keys of before', (t) => {
  const part = toState({ password: 'a hash' })
  t.equal(toState(USER).findChange(part.knownMarks), null)
  t.equal(toState(USER).findChange(part.marks), 'profile.pin')
  const keys = [Buffer.from('new'), ...KEYS]
  t.equal(toState(USER, keys).findChange(toState(USER).marks), null)
  t.equal(toState(USER).findChange(toState(USER, keys).marks), 'password')
  t.end()
})

t.test('nobody has no state', (t) => {
  const nobody = toState(null)
  t.strictSame([nobody.marks, nobody.query, nobody.findChange({})], [{}, {}, null])
  t.end()
})
