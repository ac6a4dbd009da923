import t from 'tap'
import {
  createServiceURL,
  encodeSegment,
  toBaseURL,
} from '../../../src/client/requests/service-url.ts'
import { BadRequest } from '../../../src/core/index.ts'

t.test('a base URL ends without a slash', (t) => {
  const urls = {
    'http://localhost:3030': 'http://localhost:3030',
    'https://a.b/api/v1//': 'https://a.b/api/v1',
    '/api/': '/api',
    '/': '',
    '': '',
  }
  for (const [url, expected] of Object.entries(urls)) t.equal(toBaseURL(url), expected)
  t.end()
})

t.test('refuses a base URL that no request could be sent to', (t) => {
  for (const url of ['localhost:3030', 'ftp://a', 'http:///x', 'api', undefined, 1, {}]) {
    t.throws(() => toBaseURL(url), /must begin with 'http:\/\/'/, String(url))
  }
  t.throws(() => toBaseURL('http://a.b/x?key=1'), /ends before `\?` and `#`/)
  t.throws(() => toBaseURL('http://a.b/#x'), /ends before `\?` and `#`/)
  t.end()
})

t.test('refuses a base URL by which a browser would go to a hidden host (CLI-10)', (t) => {
  const hosts = ['//evil.example', '///evil.example', '\\\\evil.example', '\\/evil.example', '//']
  const schemes = ['https:evil.example', 'http:/evil.example', 'https:\\\\evil.example']
  const others = [
    'javascript:alert(1)',
    'data:,a',
    'blob:http://a.b/c',
    'file:///a',
    ' //evil.example',
  ]
  for (const url of [
    ...hosts,
    ...schemes,
    ...others,
    ' http://a.b',
    '\thttp://a.b',
    '\ufeff/api',
  ]) {
    t.throws(() => toBaseURL(url), { name: 'TypeError', message: /must begin with/ }, url)
  }
  for (const url of [
    '/\\evil.example',
    '/\t/evil.example',
    '/\n\\evil.example',
    '/\r/evil.example',
  ]) {
    t.throws(() => toBaseURL(url), { name: 'TypeError', message: 'The base URL is not valid' })
  }
  t.end()
})

t.test('the host is that of the page, whatever base, path, values and ids (CLI-10)', (t) => {
  const bases = [
    '',
    '/',
    '/api',
    '/api//',
    '/.',
    '/..',
    '/./',
    '/..//',
    '/%2f',
    '/%5c',
    '/ ',
    '/@',
    '/a//b',
  ]
  const paths = [
    '/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\t/evil.example',
    ' //evil.example',
  ]
  const values = [
    '/evil.example',
    '//evil.example',
    '\\evil.example',
    '\t',
    ' ',
    '@evil.example',
    ':80',
  ]
  for (const base of bases) {
    for (const path of [...paths, ':a/evil.example', 'a///evil.example']) {
      const { fill } = createServiceURL(toBaseURL(base), path)
      for (const a of path.startsWith(':') ? values : [undefined]) {
        const url = fill(a === undefined ? undefined : { a })
        for (const id of ['', ...values.map((value) => `/${encodeSegment(value, 'id')}`)]) {
          t.equal(new URL(url + id || '/', 'https://page.example').host, 'page.example', url + id)
        }
      }
    }
  }
  t.end()
})

t.test('refuses a base URL that is none, without repeating it', (t) => {
  const urls = ['http://ex ample.com', 'http://localhost:99999', 'http://[::1', 'https://a\nb.c']
  for (const url of [...urls, '/\\evil', 'http://a\\b', '/a\u0000']) {
    t.throws(() => toBaseURL(url), { name: 'TypeError', message: /^The base URL [^:]*$/ }, url)
  }
  t.equal(toBaseURL('http://[::1]:3030/'), 'http://[::1]:3030')
  t.equal(toBaseURL('https://müller.example'), 'https://müller.example')
  t.end()
})

t.test('does not repeat the password in a base URL', (t) => {
  const message = /^(?!.*secret).*user name or password/
  t.throws(() => toBaseURL('http://ann:secret@a.b'), { message })
  t.throws(() => toBaseURL('//ann:secret@a.b'), { message: /^(?!.*secret).*must begin/ })
  t.end()
})

t.test('joins base and path by one slash, whatever slashes the path has', (t) => {
  for (const path of ['users', '/users/', '//users']) {
    t.equal(createServiceURL('http://a', path).fill(undefined), 'http://a/users')
  }
  t.equal(createServiceURL('http://a', '/').fill(undefined), 'http://a')
  t.equal(createServiceURL('', 'a/b').fill({}), '/a/b')
  t.end()
})

t.test('encodes what would end the path', (t) => {
  const { fill } = createServiceURL('http://a', '@scope/mü sli?x#y%')
  t.equal(fill(undefined), 'http://a/@scope/m%C3%BC%20sli%3Fx%23y%25')
  t.throws(() => createServiceURL('http://a', 'users/../admin'), /'\.\.' is no segment/)
  t.end()
})

t.test('fills each placeholder by its whole name', (t) => {
  const { fill } = createServiceURL('', 'a/:id/:idx/:id/:other')
  t.equal(fill({ id: '$&', idx: 'x/y', other: 7 }), '/a/%24%26/x%2Fy/%24%26/7')
  t.end()
})

t.test('has a form for errors, which holds no values', (t) => {
  t.equal(createServiceURL('http://a', '/reset/:token').pattern, 'http://a/reset/:token')
  t.equal(createServiceURL('http://a', '/').pattern, 'http://a')
  t.equal(createServiceURL('', '/').pattern, '/')
  t.end()
})

t.test('refuses a placeholder without a value, and a value without a placeholder', (t) => {
  const { fill } = createServiceURL('', 'users/:userId/todos')
  const values = [undefined, {}, { userId: undefined }, { userId: '' }, { userId: null }]
  for (const route of values) {
    t.throws(() => fill(route), BadRequest)
    t.throws(() => fill(route), "params.route.userId of 'users/:userId/todos' is required")
  }
  for (const userId of ['.', '..', {}, [1], true, Number.NaN, '\ud800']) {
    t.throws(() => fill({ userId }), BadRequest, String(userId))
  }
  const other = () => fill({ userId: '1', todoId: '2' })
  t.throws(other, "params.route.todoId has no place in the path 'users/:userId/todos'")
  t.throws(() => createServiceURL('', 'a/:toString').fill({}), /is required/)
  t.throws(() => createServiceURL('', 'a').fill('x'), /params.route must be an object/)
  t.end()
})
