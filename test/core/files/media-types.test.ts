import t from 'tap'
import { includesType, isActiveType, toMediaType } from '../../../src/core/files/media-types.ts'

const toBytes = (text: string) => Buffer.from(text, 'latin1')

const RECOGNISED: Readonly<Record<string, string>> = {
  'image/png': '\x89PNG\r\n\x1a\n',
  'image/jpeg': '\xff\xd8\xff\xe0',
  'image/gif': 'GIF89a',
  'image/webp': 'RIFF\x01\n\x03\x04WEBPVP8 ',
  'image/avif': '\0\0\0\x1cftypavif',
  'video/mp4': '\0\0\0\x1cftypisom',
  'video/webm': '\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm',
  'audio/mpeg': 'ID3\x04',
  'audio/wav': 'RIFF\x01\x02\x03\x04WAVE',
  'application/pdf': '%PDF-1.7',
  'image/svg+xml': '<?xml version="1.0"?><svg xmlns="a">',
  'text/html': '\n <!DOCTYPE html>',
}

t.test('recognises the types that browsers display, whatever is declared', (t) => {
  for (const [type, head] of Object.entries(RECOGNISED)) {
    t.equal(toMediaType(toBytes(head), 'text/x-other'), type)
    t.equal(toMediaType(toBytes(head)), type)
  }
  t.end()
})

t.test('looks for markup behind byte order marks, spaces and prefixes', (t) => {
  const cases = ['\xef\xbb\xbf<script>', '\xff\xfe<\0h\0', '\xfe\xff\0<\0h', '\t\r\n<a', '<x:svg>']
  for (const head of cases) t.match(toMediaType(toBytes(head), 'image/png'), /html|svg/, head)
  t.end()
})

t.test('takes a declared type that the content does not contradict', (t) => {
  const type = (declared?: string) => toMediaType(toBytes('anything'), declared)
  t.equal(type('Text/Plain; charset=utf-8'), 'text/plain')
  t.equal(type('text/html'), 'text/html')
  t.equal(type('application/vnd.ms-excel'), 'application/vnd.ms-excel')
  for (const declared of [
    'image/png',
    'application/pdf',
    '',
    undefined,
    'a',
    'a/b\r\nc: d',
    'a/<',
  ]) {
    t.equal(type(declared), 'application/octet-stream', declared ?? 'none')
  }
  t.equal(toMediaType(new Uint8Array(), 'text/csv'), 'text/csv')
  t.end()
})

t.test('tells types that browsers may run', (t) => {
  const active = [
    ...['text/html', 'image/svg+xml', 'text/css', 'text/javascript', 'application/javascript'],
    ...['application/xhtml+xml', 'text/xml', 'application/xml', 'application/ecmascript'],
    ...['application/wasm', 'application/x-shockwave-flash', 'text/vbscript'],
  ]
  for (const type of active) t.ok(isActiveType(type), type)
  const office = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
  for (const type of ['text/plain', 'image/png', 'application/json', office]) {
    t.notOk(isActiveType(type), type)
  }
  t.end()
})

t.test('compares types with a list', (t) => {
  t.ok(includesType(['image/*'], 'image/png'))
  t.ok(includesType(['*/*'], 'a/b'))
  t.ok(includesType(['a/b', 'c/d'], 'c/d'))
  t.notOk(includesType(['image/*'], 'imagex/png'))
  t.notOk(includesType([], 'a/b'))
  t.end()
})
