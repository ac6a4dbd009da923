import t from 'tap'
import type { ErrorData } from '../../../src/core/index.ts'
import * as core from '../../../src/core/index.ts'
import {
  BadRequest,
  Conflict,
  convert,
  errorFromJSON,
  GeneralError,
  NotFound,
  ServiceError,
  toErrorClass,
  toServiceError,
} from '../../../src/core/index.ts'

const CLASSES: readonly [string, number, string][] = [
  ['BadRequest', 400, 'bad-request'],
  ['NotAuthenticated', 401, 'not-authenticated'],
  ['PaymentError', 402, 'payment-error'],
  ['Forbidden', 403, 'forbidden'],
  ['NotFound', 404, 'not-found'],
  ['MethodNotAllowed', 405, 'method-not-allowed'],
  ['NotAcceptable', 406, 'not-acceptable'],
  ['Timeout', 408, 'timeout'],
  ['Conflict', 409, 'conflict'],
  ['Gone', 410, 'gone'],
  ['LengthRequired', 411, 'length-required'],
  ['PreconditionFailed', 412, 'precondition-failed'],
  ['PayloadTooLarge', 413, 'payload-too-large'],
  ['UnsupportedMediaType', 415, 'unsupported-media-type'],
  ['Unprocessable', 422, 'unprocessable'],
  ['PreconditionRequired', 428, 'precondition-required'],
  ['TooManyRequests', 429, 'too-many-requests'],
  ['GeneralError', 500, 'general-error'],
  ['NotImplemented', 501, 'not-implemented'],
  ['BadGateway', 502, 'bad-gateway'],
  ['Unavailable', 503, 'unavailable'],
]

class Teapot extends ServiceError {
  static override readonly code: number = 418
  static override readonly className: string = 'teapot'
}

t.test('every class has its name, code and class name', async (t) => {
  for (const [name, code, className] of CLASSES) {
    const ErrorOfCode = toErrorClass(code)
    const error = new ErrorOfCode('text')
    t.equal((core as Record<string, unknown>)[name], ErrorOfCode, name)
    t.match(error, { name, code, className, message: 'text' }, name)
    t.ok(error instanceof ServiceError && error instanceof Error, name)
    t.ok(error.stack?.startsWith(`${name}: text`), name)
  }
})

t.test('every exported error class stands in the table', async (t) => {
  const exported = Object.values(core).filter(
    (value) => typeof value === 'function' && value.prototype instanceof ServiceError,
  )
  t.equal(exported.length, CLASSES.length)
})

t.test('toErrorClass() falls back to GeneralError', async (t) => {
  for (const code of [0, 200, 418, 599, Number.NaN]) t.equal(toErrorClass(code), GeneralError)
})

t.test('the constructor reads message, data and errors', async (t) => {
  type Arguments = ConstructorParameters<typeof ServiceError>
  const errors = { email: 'taken' }
  const cases: [Arguments, string, unknown, unknown][] = [
    [[], 'Error', undefined, undefined],
    [[undefined], 'Error', undefined, undefined],
    [[null], 'Error', undefined, undefined],
    [[null, {}], 'Error', {}, undefined],
    [['m'], 'm', undefined, undefined],
    [[''], '', undefined, undefined],
    [['m', null], 'm', undefined, undefined],
    [['m', { a: 1 }], 'm', { a: 1 }, undefined],
    [['m', { errors }], 'm', {}, errors],
    [['m', { message: 'x', errors, a: 1 }], 'm', { message: 'x', a: 1 }, errors],
    [['m', [1, 2]], 'm', [1, 2], undefined],
    [[{ a: 1 }], 'Error', { a: 1 }, undefined],
    [[{ message: 'm', errors, a: 1 }], 'm', { a: 1 }, errors],
    [[{ a: 1 }, { b: 1 }], 'Error', { a: 1 }, undefined],
    [[[1]], 'Error', [1], undefined],
    [[new Error('m')], 'm', {}, undefined],
    [[Object.assign(new Error('m'), { a: 1, errors })], 'm', { a: 1 }, errors],
    [[Object.assign(new TypeError('m'), { a: 1, errors })], 'm', {}, errors],
    [[new Error('m'), null], 'm', {}, undefined],
    [[Object.assign(new Error('m'), { b: 1 }), [1]], 'm', [1], undefined],
    [[new Error('m'), { a: 1 }], 'm', { a: 1 }, undefined],
    [[new Error('')], 'Error', {}, undefined],
    [[undefined, Object.assign(new Error('m'), { a: 1, errors })], 'm', { a: 1 }, errors],
    [[null, Object.assign(new TypeError('m'), { a: 1 })], 'm', {}, undefined],
    [['x', Object.assign(new Error('m'), { a: 1, errors })], 'x', { a: 1 }, errors],
    [['', new Error('m')], '', {}, undefined],
    [[new Error('x'), new Error('m')], 'x', {}, undefined],
  ]
  for (const [values, message, data, found] of cases) {
    const error = new BadRequest(...values)
    t.equal(error.message, message, JSON.stringify(values))
    t.same(error.data, data, JSON.stringify(values))
    t.same(error.errors, found, JSON.stringify(values))
    t.equal('data' in error, data !== undefined)
  }
})

t.test('the constructor changes none of its arguments and takes frozen ones', async (t) => {
  const data: ErrorData = Object.freeze({ message: 'm', errors: Object.freeze({ a: 1 }), b: 1 })
  t.equal(new BadRequest(data).message, 'm')
  t.same(new BadRequest('x', data).errors, { a: 1 })
  t.same(data, { message: 'm', errors: { a: 1 }, b: 1 })
})

t.test('an error as the message or the data becomes the cause', async (t) => {
  const cause = new Error('text')
  t.equal(new Conflict(cause).cause, cause)
  t.equal(new Conflict('text', cause).cause, cause)
  t.equal(new Conflict(cause, new Error('other')).cause, cause)
  t.equal(new Conflict('text', new Error('other'), { cause }).cause, cause)
  t.equal(new Conflict('text', undefined, { cause }).cause, cause)
})

t.test('an error of a driver or of the system hands on its text alone (FTH-27)', async (t) => {
  class MongoServerError extends Error {}
  const keyValue = { email: 'a@b.c' }
  const causes = [
    Object.assign(new MongoServerError('E11000'), { keyValue }),
    Object.assign(new Error('E11000'), { code: 11000, keyValue }),
    Object.assign(new Error('E11000'), { name: 'MongoServerError', keyValue }),
    new Conflict('text', { keyValue }),
  ]
  for (const cause of causes) {
    for (const error of [new Conflict(cause), new Conflict('text', cause)]) {
      t.same(error.data, {})
      t.notMatch(JSON.stringify(error), /keyValue/)
    }
  }
})

t.test('errors that are no fault of the server have no stack frames unless asked to', async (t) => {
  t.teardown(() => {
    ServiceError.expectedStackFrames = 0
  })
  const countFrames = (error: Error): number => error.stack?.match(/^ {4}at /gm)?.length ?? 0
  t.equal(countFrames(new NotFound('gone')), 0)
  t.ok(countFrames(new GeneralError('broken')) > 1)

  ServiceError.expectedStackFrames = 2
  t.equal(countFrames(new NotFound('gone')), 2)
  t.match(new NotFound('gone').stack, /^NotFound: gone\n {4}at .*errors\.test/)
  t.ok(countFrames(new Error('any other')) > 2, 'the limit for other errors stays as it was')

  class Teapot extends ServiceError {
    static override readonly code: number = 418
  }
  t.equal(countFrames(new Teapot()), 2)
})

t.test('JSON has the keys in their order, and neither stack nor cause', async (t) => {
  const error = new BadRequest('m', { errors: { b: 1 }, a: 1 }, { cause: new Error('secret') })
  t.equal(
    JSON.stringify(error),
    '{"name":"BadRequest","message":"m","code":400,"className":"bad-request","data":{"a":1},"errors":{"b":1}}',
  )
  t.equal(
    JSON.stringify(new NotFound()),
    '{"name":"NotFound","message":"Error","code":404,"className":"not-found"}',
  )
})

t.test('JSON of every class becomes an error of this class again', async (t) => {
  for (const [name, code] of CLASSES) {
    const ErrorOfCode = toErrorClass(code)
    const body = new ErrorOfCode('text', { a: 1, errors: { b: 1 } }).toJSON()
    const error = errorFromJSON(JSON.parse(JSON.stringify(body)))
    t.equal(error.constructor, ErrorOfCode, name)
    t.same(error.toJSON(), body, name)
  }
})

t.test('JSON of a class of one own keeps name, code and class name', async (t) => {
  const body = new Teapot('short', { a: 1 }).toJSON()
  t.same(body, {
    ...{ name: 'Teapot', message: 'short', code: 418, className: 'teapot', data: { a: 1 } },
  })
  const error = errorFromJSON(body)
  t.type(error, GeneralError)
  t.same(error.toJSON(), body)
})

t.test('errorFromJSON() goes by the name, then by the code', async (t) => {
  t.type(errorFromJSON({ name: 'NotFound', code: 409 }), NotFound)
  t.equal(errorFromJSON({ name: 'NotFound', code: 409 }).code, 409)
  t.type(errorFromJSON({ name: 'Strange', code: 409 }), Conflict)
  t.type(errorFromJSON({ code: 404, message: 'gone' }), NotFound)
  t.type(errorFromJSON({ message: 'no code' }), GeneralError)
  t.match(errorFromJSON({ code: 404, response: { status: 404 } }), { response: { status: 404 } })
})

t.test('errorFromJSON() keeps only codes that an HTTP error can have', async (t) => {
  for (const code of [200, 99, 600, 1e9, -1, 404.5, '404', null]) {
    t.equal(errorFromJSON({ name: 'NotFound', code }).code, 404, String(code))
  }
})

t.test('errorFromJSON() makes an error of anything', async (t) => {
  const cases: [unknown, string][] = [
    ['<html>', '<html>'],
    [503, '503'],
    [null, 'Error'],
    [undefined, 'Error'],
    [[], 'Error'],
    [{ name: { toString: 1 }, message: { toString: 1 } }, 'Error'],
    [Object.create(null), 'Error'],
  ]
  for (const [body, message] of cases) t.match(errorFromJSON(body), { code: 500, message })
})

t.test('names and keys of a body reach no prototype', async (t) => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'ServiceErrors']) {
    const error = errorFromJSON({ name, message: 'm' })
    t.equal(error.constructor, GeneralError, name)
    t.ok(convert({ name, message: 'm' }) instanceof Error, name)
  }
  const evil =
    '{"name":"NotFound","__proto__":{"a":1},"toString":1,"toJSON":1,"stack":"x","cause":1}'
  const error = errorFromJSON(JSON.parse(evil))
  t.equal(Object.getPrototypeOf(error), NotFound.prototype)
  t.equal(String(error), 'NotFound: Error')
  t.same(error.toJSON(), new NotFound().toJSON())
  t.not(error.stack, 'x')
  t.equal(error.cause, undefined)
})

t.test('convert() returns falsy values and service errors as they are', async (t) => {
  const error = new NotFound('x')
  for (const value of [null, undefined, 0, '', false, error]) t.equal(convert(value), value)
})

t.test('convert() makes an error of the named class, own properties included', async (t) => {
  const body = { name: 'Gone', message: 'm', code: 410, data: { a: 1 }, errors: [1], response: 2 }
  const error = convert(body)
  t.type(error, core.Gone)
  t.match(error, body)
  const foreign = Object.assign(new Error('m'), { name: 'NotFound' })
  t.match(convert(foreign), { code: 404, message: 'm' })
  t.type(convert(foreign), NotFound)
})

t.test('convert() makes a plain error of anything else', async (t) => {
  const error = convert({ name: 'Strange', message: 'm', code: 'X', toString: 1 })
  t.equal((error as Error).constructor, Error)
  t.match(error, { name: 'Strange', message: 'm', code: 'X' })
  t.equal(String(error), 'Strange: m')
  t.match(convert('text'), { message: 'text' })
  t.match(convert(42), { message: '42' })
  const original = new TypeError('m')
  t.equal(convert(original), original)
})

t.test('toServiceError() keeps service errors and the text of ordinary ones', async (t) => {
  const teapot = new Teapot('short')
  t.equal(toServiceError(teapot), teapot)
  const cause = new Error('text')
  const error = toServiceError(cause)
  t.same(error.toJSON(), new GeneralError('text').toJSON())
  t.equal(error.cause, cause)
  const withErrors = toServiceError(Object.assign(new Error('text'), { errors: { a: 1 } }))
  t.match(withErrors.toJSON(), { code: 500, message: 'text', errors: { a: 1 } })
})

t.test('toServiceError() hides the text of every other error', async (t) => {
  class DriverError extends Error {}
  const others = [
    new TypeError("Cannot read properties of undefined (reading 'secret')"),
    new RangeError('secret'),
    new DriverError('secret'),
    Object.assign(new Error('connect ECONNREFUSED secret'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('secret'), { code: 404 }),
    Object.assign(new Error('secret'), { name: 'MongoServerError' }),
    { message: 'secret', code: 404 },
    ...['secret', 7, true, Symbol('secret'), null, undefined],
  ]
  for (const thrown of others) {
    const error = toServiceError(thrown)
    t.same(error.toJSON(), new GeneralError('Internal error').toJSON())
    t.equal(error.cause, thrown)
  }
})

t.test('toServiceError() survives what cannot even be read', async (t) => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const unreadable = Object.defineProperty(new Error('secret'), 'message', {
    get: () => {
      throw new Error('secret')
    },
  })
  const toJSON = (): never => {
    throw new Error('secret')
  }
  const foreign = Object.assign(new Error('secret'), { type: 'FeathersError', toJSON })
  for (const thrown of [revoked.proxy, unreadable, foreign]) {
    t.same(toServiceError(thrown).toJSON(), new GeneralError('Internal error').toJSON())
  }
})

t.test('toServiceError() understands the errors of @feathersjs/errors', async (t) => {
  const json = { name: 'NotFound', message: 'm', code: 404, className: 'not-found', data: { a: 1 } }
  const foreign = Object.assign(new Error('m'), { type: 'FeathersError', toJSON: () => json })
  const error = toServiceError(foreign)
  t.type(error, NotFound)
  t.same(error.toJSON(), json)
  t.equal(error.cause, foreign)
})
