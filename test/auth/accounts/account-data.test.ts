import t from 'tap'
import { isAddress } from '../../../src/auth/accounts/account-data.ts'

t.test('one address is one, in any language', async (t) => {
  const good = [
    ...['ada@example.org', 'ada+notes@example.org', "o'neil@example.org", 'a.b-c_d@x.org'],
    ...['ADA@EXAMPLE.ORG', 'josé@example.org', 'ada@bücher.example', 'čárka@example.cz'],
    ...['用户@例子.公司', 'पता@उदाहरण.भारत', 'ada@xn--bcher-kva.example', 'a@localhost'],
  ]
  for (const email of good) t.ok(isAddress(email), email)
})

t.test('what a library could read as another address, or as two, is none', async (t) => {
  const bad = [
    ...[
      'ada',
      '@',
      'a@',
      '@b',
      'a@b@c',
      'a b@c',
      'a@b, c@d',
      'a@b;c@d',
      '<a@b>',
      '"a"@b',
      'a(b)@c',
    ],
    ...['a@b\r\nBcc: c@d', 'a\u0000@b', 'a\u0085@b', 'a\u2028@b', 'a\u00a0@b', 'a\u3000@b'],
  ]
  t.strictSame(bad.filter(isAddress), [])
  const hidden = [
    ...[0xff20, 0xfe6b], // @
    ...[0xff0c, 0xfe50, 0xfe10, 0xff1b, 0xfe54, 0x037e, 0xff1a, 0xfe55], // , ; :
    ...[0xff1c, 0xff1e, 0xfe64, 0xfe65, 0x226e, 0x226f, 0xff08, 0xff09, 0x2474, 0xff3b, 0xff3c], // < > ( ) [ \
    ...[0xff02, 0x2033, 0xff0e, 0xff61, 0x3002, 0x2024, 0x2026], // " .
    ...[0x200b, 0x200d, 0x2060, 0xfeff, 0x00ad, 0x202e, 0x061c, 0xe0041], // format characters
    ...[0xfe0f, 0x034f, 0x115f, 0x3164, 0x17b4, 0x180b, 0xe0100, 0xffa0], // invisible letters and marks
    ...[0xff41, 0x212a, 0x1d41a, 0x2100, 0x00aa, 0xfb01, 0x2460], // letters and digits
    ...[0xd800, 0xdc00, 0xe000, 0xffff, 0x0378], // no characters
  ]
  for (const point of hidden) {
    const text = String.fromCodePoint(point)
    const parts = [`ad${text}a@example.org`, `ada@exa${text}mple.org`]
    const emails = [...parts, `ada${text}evil.example@corp.org`]
    t.strictSame(emails.filter(isAddress), [], point.toString(16))
  }
})

t.test('no encoded word is part of an address', async (t) => {
  const bad = [
    ...[
      '=?utf-8?q?ann=40evil.example=3E=20?=@corp.org',
      'ann=?utf-8?b?QGV2aWwuZXhhbXBsZQ==?=@corp.org',
    ],
    ...[
      '=?UTF-7?Q?ann&AEA-evil.example?=@corp.org',
      'ann@=?x?q?evil.example?=.corp.org',
      'a=?@corp.org',
    ],
  ]
  t.strictSame(bad.filter(isAddress), [])
  for (const email of ['ann=corp.org@lists.example', 'ann?@corp.org', '?=a@corp.org']) {
    t.ok(isAddress(email), email)
  }
})

t.test('no character becomes one that ends an address where it is normalized', async (t) => {
  const ends = /[\s\p{Cc}@<>(),;:"[\]\\]/u
  const found: string[] = []
  for (let point = 0x80; point <= 0x2ffff; point += 1) {
    const text = String.fromCodePoint(point)
    const forms = (['NFC', 'NFD', 'NFKC', 'NFKD'] as const).map((form) => text.normalize(form))
    if (!forms.some((form) => ends.test(form) || form.includes('.'))) continue
    if (isAddress(`a${text}b@example.org`)) found.push(point.toString(16))
  }
  t.strictSame(found, [])
})
