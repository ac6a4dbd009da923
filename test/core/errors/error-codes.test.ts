import { readFileSync } from 'node:fs'
import t from 'tap'
import * as coded from '../../../src/core/errors/coded-errors.ts'
import * as setup from '../../../src/core/errors/setup-errors.ts'
import { BadRequest, errorFromJSON, toServiceError } from '../../../src/core/index.ts'
import { readSources } from '../../support/source-imports.ts'

const root = new URL('../../../../', import.meta.url)
const sources = Object.entries(readSources('src')).filter(([path]) => !/embedded|cli\//.test(path))

/** The classes of a module by name, without its functions. */
function listClasses(module: object): [name: string, ErrorClass: typeof BadRequest][] {
  return Object.entries(module).filter(([name]) => /^[A-Z]/.test(name))
}

/** The codes of the page with their statuses, if they have some. */
function readPage(): Record<string, string> {
  const page = readFileSync(new URL('docs/reference/error-codes.md', root), 'utf8')
  const rows = page.matchAll(/^[|-] `(\w+)`(?: \| ([\d, ]*))?/gm)
  return Object.fromEntries([...rows].map(([, code = '', status = '']) => [code, status.trim()]))
}

t.test('the page explains exactly the codes of the classes, with their statuses', async (t) => {
  const page = readPage()
  const classes = listClasses(coded)
  t.ok(classes.length > 70)
  const codes = classes.map(([, { prototype }]) => String(prototype.errorCode))
  t.equal(new Set(codes).size, codes.length, 'no code stands twice')
  const setupCodes = listClasses(setup).map(([, { prototype }]) => String(prototype.errorCode))
  const refusals = readFileSync(new URL('src/cli/refusal.ts', root), 'utf8')
  const cliCodes = [...refusals.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code = '']) => code)
  t.equal(cliCodes.length, 6)
  const all = [...codes, ...setupCodes, 'NOT_READY', ...cliCodes]
  t.strictSame(Object.keys(page).sort(), all.sort())
  for (const [, { prototype, code }] of classes) {
    const statuses = page[String(prototype.errorCode)]?.split(', ')
    t.equal(statuses?.[0], String(code), prototype.errorCode ?? '')
  }
})

t.test('each class is thrown, and no other service error of the sources', async (t) => {
  const text = sources
    .filter(([path]) => !path.includes('coded-errors') && !path.includes('setup-errors'))
    .map(([, source]) => source)
    .join('\n')
  for (const [name] of [...listClasses(coded), ...listClasses(setup)]) {
    t.match(
      text,
      new RegExp(
        `new ${name}\\(|(?:ErrorClass|Invalid|TooLarge|\\d+): ${name}\\b|[?:,=] ${name}\\b`,
      ),
      name,
    )
  }
  const plain =
    /new (?:BadRequest|NotAuthenticated|Forbidden|NotFound|MethodNotAllowed|NotAcceptable|Timeout|Conflict|Precondition\w+|PayloadTooLarge|UnsupportedMediaType|Unprocessable|TooManyRequests|NotImplemented|BadGateway|Unavailable)\((?!'…')/
  for (const [path, source] of sources) t.notMatch(source, plain, path)
})

t.test('a class with a code is its base for clients and programs', async (t) => {
  const error = new coded.InvalidQuery('No', { field: 'a' })
  t.ok(error instanceof BadRequest)
  t.equal(error.errorCode, 'INVALID_QUERY')
  t.equal(error.name, 'BadRequest')
  t.strictSame(Object.keys(error), Object.keys(new BadRequest('No', { field: 'a' })))
  t.strictSame(error.toJSON(), new BadRequest('No', { field: 'a' }).toJSON())
  t.equal(new BadRequest('No').errorCode, undefined)
  t.equal(toServiceError(new TypeError('x')).errorCode, 'INTERNAL_ERROR')
  t.equal(errorFromJSON({ ...error.toJSON(), errorCode: 'SEAT_TAKEN' }).errorCode, 'SEAT_TAKEN')
})

t.test('a custom error has the code of its class', async (t) => {
  class SeatTaken extends BadRequest {
    override readonly errorCode = 'SEAT_TAKEN'
  }
  t.equal(new SeatTaken().errorCode, 'SEAT_TAKEN')
  t.notOk('errorCode' in new SeatTaken().toJSON())
})
