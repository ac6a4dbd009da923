import { assert, property, string } from 'fast-check'
import t from 'tap'
import { toDisposition, toFileName } from '../../../src/core/files/file-name.ts'

t.test('keeps what is a name', (t) => {
  for (const name of ['a.txt', 'Größe 1.pdf', '.htaccess', 'a"b', '名前.png', 'a%20b', '👍.gif']) {
    t.equal(toFileName(name), name)
  }
  t.end()
})

t.test('removes paths, controls and marks of direction', (t) => {
  const cases: Readonly<Record<string, string>> = {
    '/etc/passwd': 'passwd',
    'a\\b\\c.exe': 'c.exe',
    'a\u0000\r\n\u007f\u0085b': 'ab',
    'x\u202Egnp.exe': 'xgnp.exe',
    '\u2066a\u2069': 'a',
    ' a ': 'a',
    '\ud800a': '\ufffda',
  }
  for (const [given, expected] of Object.entries(cases)) t.equal(toFileName(given), expected)
  for (const given of ['', '..', '.', 'a/', '\r\n', 'a/../']) t.equal(toFileName(given), 'file')
  t.equal(toFileName(`${'a'.repeat(300)}.pdf`), `${'a'.repeat(196)}.pdf`)
  t.end()
})

t.test('the header has one line of ASCII, from which every name can be read', (t) => {
  assert(
    property(string({ unit: 'binary', maxLength: 300 }), (given) => {
      const header = toDisposition('attachment', given)
      const form =
        /^attachment; filename="([ !#$&-~]*)"(?:; filename\*=UTF-8''([\w!#$&+.^`|~%-]*))?$/
      const [, plain = '', encoded] = form.exec(header) ?? []
      const name = encoded === undefined ? plain : decodeURIComponent(encoded)
      return form.test(header) && name === toFileName(given)
    }),
  )
  t.equal(toDisposition('inline', 'a.png'), 'inline; filename="a.png"')
  const quoted = `attachment; filename="a_b_'.txt"; filename*=UTF-8''a%22b%25%27.txt`
  t.equal(toDisposition('attachment', `a"b%'.txt`), quoted)
  t.end()
})
