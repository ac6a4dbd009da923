import t from 'tap'
import { normalizeTokenAnswer } from '../../../../src/auth/oauth/provider/provider-session.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
const TEXT = { 'content-type': 'text/plain' }
const HTML = { 'content-type': 'text/html' }
const TOKEN = { access_token: 'a', token_type: 'bearer' }

/** By what is sent: the status and the fields that the library gets. */
const CASES: Readonly<Record<string, readonly [body: unknown, init: ResponseInit, got: unknown]>> =
  {
    'an answer of the standard': [{ ...TOKEN, scope: 'b c' }, {}, { ...TOKEN, scope: 'b c' }],
    'a type in capitals': [
      { ...TOKEN, token_type: 'Bearer' },
      {},
      { ...TOKEN, token_type: 'Bearer' },
    ],
    'another type': [{ ...TOKEN, token_type: 'mac' }, {}, { ...TOKEN, token_type: 'mac' }],
    'an id token': [{ ...TOKEN, id_token: 'e30.e30.' }, {}, TOKEN],
    'no type': [{ access_token: 'a' }, {}, TOKEN],
    'nothing in fields': [
      { access_token: 'a', token_type: null, scope: null, refresh_token: null, expires_in: null },
      {},
      TOKEN,
    ],
    'a list of scopes': [{ ...TOKEN, scope: ['b', 'c'] }, {}, { ...TOKEN, scope: 'b c' }],
    'status 201': [TOKEN, { status: 201 }, TOKEN],
    'a form': ['access_token=a&expires_in=60', { headers: FORM }, { ...TOKEN, expires_in: '60' }],
    'a form that is called text': ['access_token=a', { headers: TEXT }, TOKEN],
    'further fields': [{ ...TOKEN, team: { id: 1 } }, {}, { ...TOKEN, team: { id: 1 } }],
  }

for (const [name, [body, init, expected]] of Object.entries(CASES)) {
  t.test(`takes ${name}`, async (t) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await normalizeTokenAnswer(new Response(sent, init))
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'application/json')
    t.strictSame(await answer.json(), expected)
  })
}

t.test('leaves alone what is no answer with a token', async (t) => {
  const others: readonly (readonly [body: string | null, init: ResponseInit])[] = [
    ['<h1>Sign in</h1>', { headers: HTML }],
    ['access_token=a', { headers: HTML }],
    ['[{"access_token":"a"}]', {}],
    ['null', {}],
    ['', {}],
    [null, { status: 204 }],
    ['{"access_token":"a"', {}],
    ['{"access_token":{"a":1}}', { status: 201 }],
    ['{"access_token":"a","id_token":"b"}', { status: 400 }],
    ['{"error":"invalid_grant"}', { status: 400 }],
  ]
  for (const [body, init] of others) {
    const answer = await normalizeTokenAnswer(new Response(body, init))
    t.strictSame([answer.status, await answer.text()], [init.status ?? 200, body ?? ''])
  }
})

t.test('errors in a form become errors in JSON, with their challenge', async (t) => {
  const headers = { ...FORM, 'www-authenticate': 'Basic realm="tokens"' }
  const form = new Response('error=invalid_client', { status: 401, headers })
  const answer = await normalizeTokenAnswer(form)
  t.strictSame([answer.status, await answer.json()], [401, { error: 'invalid_client' }])
  t.equal(answer.headers.get('www-authenticate'), 'Basic realm="tokens"')
})
