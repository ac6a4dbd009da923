import t from 'tap'
import { foldText, toWords } from '../../../../src/adapter/embedded/queries/text-query.ts'

t.test('words stand between blanks, signs, dashes and quotation marks', async (t) => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  const delimiters = ascii.filter((sign) => toWords(`a${sign}b`).length === 2)
  t.equal(delimiters.join(''), '\t\n\v\f\r !"#$%&\'()*+,-./:;<=>?@[\\]^`{|}~')
  for (const sign of '\u00A0\u00AD\u2014\u2019\u00AB\u3002\u30FB\uFF65\u0589\u20AC\u00D7') {
    if (sign === '\u20AC') t.strictSame(toWords(`a${sign}b`), [`a${sign}b`], 'no sign')
    else t.strictSame(toWords(`a${sign}b`), ['a', 'b'], sign)
  }
  t.strictSame(toWords(' - a_1, "bb"…'), ['a_1', 'bb'])
  t.strictSame(toWords(''), [])
})

t.test('letters are folded one by one, as Unicode folds them', async (t) => {
  const wrong: string[] = []
  for (let code = 0; code < 0x20000; code += 1) {
    if (code >= 0xd800 && code < 0xe000) continue
    const character = String.fromCodePoint(code)
    const folded = foldText(character)
    // Letters with diacritics are compared without them.
    if (folded === character || character.normalize('NFD') !== character) continue
    if (/\p{Diacritic}/u.test(character)) continue
    const hex = folded.codePointAt(0)?.toString(16)
    if (!new RegExp(`^\\u{${hex}}$`, 'iu').test(character)) wrong.push(character)
  }
  t.strictSame(wrong, [])
  t.strictSame(['ΣΊΣΥΦΟΣ', 'σίσυφος'].map(foldText), ['σισυφοσ', 'σισυφοσ'])
  t.strictSame(['ı', 'ſ', 'ß', 'ẞ', 'İ', '\u212A'].map(foldText), ['ı', 's', 'ß', 'ß', 'I', 'k'])
})

t.test('diacritics are left out, and letters that only look like it stay', async (t) => {
  t.strictSame(['Café', 'Cafe\u0301', 'ÅNGSTRÖM', 'ø', 'Đ', 'ỹ', 'a^`b'].map(foldText), [
    'cafe',
    'cafe',
    'angstrom',
    'ø',
    'đ',
    'y',
    'ab',
  ])
})
