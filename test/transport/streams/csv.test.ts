import fc from 'fast-check'
import t from 'tap'
import { toCSVLine } from '../../../src/transport/streams/csv.ts'

/** Returns the cells of one line, as RFC 4180 has them. */
function parseLine(line: string): string[] {
  const cells: string[] = []
  let rest = `,${line.slice(0, -2)}`
  while (rest !== '') {
    const [whole = '', quoted, plain = ''] = /^,(?:"((?:[^"]|"")*)"|([^,]*))/.exec(rest) ?? []
    cells.push(quoted?.replaceAll('""', '"') ?? plain)
    rest = rest.slice(whole.length)
  }
  return cells
}

t.test('values become cells', async (t) => {
  const rows: [unknown, string][] = [
    ['plain text', 'plain text'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['a;b', '"a;b"'],
    [' padded', '" padded"'],
    [null, ''],
    [undefined, ''],
    [0, '0'],
    [-1.5e-7, '-1.5e-7'],
    [true, 'true'],
    [10n, '10'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [{ toJSON: () => 'abc' }, 'abc'],
    [{ a: 1 }, '"{""a"":1}"'],
    [['x', 2], '"[""x"",2]"'],
  ]
  for (const [value, cell] of rows) t.equal(toCSVLine([value]), `${cell}\r\n`)
  t.equal(toCSVLine(['a', null, 'b']), 'a,,b\r\n')
})

t.test('what a spreadsheet may take for a formula becomes text', async (t) => {
  const formulas = [
    ...['=1+1', '+1', '-1+cmd', '@SUM(A1)', '\tx', '\rx', '\nx'],
    ...[' =1', '"=1', "'=1", ' " =1', '\uFF1D1', '-', '--1', '-1e', "=cmd|' /C calc'!A0"],
  ]
  for (const text of formulas) {
    t.strictSame(parseLine(toCSVLine([text])), [`'${text}`], JSON.stringify(text))
  }
  for (const text of ['-5', '-3.25', '-1e9', '-1E+9', 'a=b', '1+1', 'x@y.example']) {
    t.strictSame(parseLine(toCSVLine([text])), [text])
  }
})

t.test('any text comes back, but for the apostrophe', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 2 }), (texts) => {
      const cells = parseLine(toCSVLine(texts))
      return (
        cells.length === texts.length &&
        cells.every((cell, index) => cell === texts[index] || cell === `'${texts[index]}`)
      )
    }),
  )
})
