import fc from 'fast-check'
import t from 'tap'
import { toISODateString } from '../../../../src/core/schema/service/iso-date.ts'

const DAY_MS = 86_400_000

t.test('a date has the text that toISOString() gives it', async (t) => {
  const times = [
    ...[0, -1, 1, 999, 8.64e15, -8.64e15],
    ...['0000-01-01', '0000-02-29', '0001-01-01', '1582-10-15', '1600-02-29'].map(Date.parse),
    ...['1900-03-01', '1969-12-31', '2000-02-29', '2100-02-28', '9999-12-31'].map(Date.parse),
    ...[Date.UTC(10_000, 0), Date.parse('0000-01-01') - 1, Date.UTC(10_000, 0) - 1],
  ]
  for (const time of times) t.equal(toISODateString(new Date(time)), new Date(time).toISOString())
})

t.test('so has every day of some eras', async (t) => {
  const days = Array.from({ length: 300_000 }, (_, index) => index - 150_000)
  const different = days.filter((day) => {
    const date = new Date(day * DAY_MS + (day % DAY_MS))
    return toISODateString(date) !== date.toISOString()
  })
  t.strictSame(different, [])
})

t.test('so has any other time', async (t) => {
  fc.assert(
    fc.property(
      fc.date({ noInvalidDate: true }),
      (date) => toISODateString(date) === date.toISOString(),
    ),
  )
  t.pass('holds for all dates that were tried')
})

t.test('an invalid date has none', async (t) => {
  t.throws(() => toISODateString(new Date(Number.NaN)), RangeError)
})
