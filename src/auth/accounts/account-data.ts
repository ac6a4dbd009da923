import { InvalidAccountCall } from '../../core/errors/coded-errors.ts'
import type { Params } from '../../core/index.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'
import { isKeyString, isPlainObject } from '../../core/value-kind.ts'
import { checkPassword } from '../passwords/passwords.ts'

/** The longest address that mail servers accept. */
const MAX_EMAIL_LENGTH = 254
/** An id of 512 bytes results in a token of 735 characters. */
const MAX_TOKEN_LENGTH = 1000

/** A field that callers send. */
type Field = 'email' | 'token' | 'password' | 'newPassword'

/** The fields that each method takes. */
const FIELDS = {
  requestVerification: ['email'],
  verifyEmail: ['token'],
  requestReset: ['email'],
  resetPassword: ['token', 'password'],
  changePassword: ['password', 'newPassword'],
  changeEmail: ['password', 'email'],
} as const

type AccountMethod = keyof typeof FIELDS

const PASSWORD: JSONSchema = { type: 'string', format: 'password', minLength: 1 }

const SCHEMAS: Readonly<Record<Field, JSONSchema>> = {
  email: { type: 'string', minLength: 1, maxLength: MAX_EMAIL_LENGTH },
  token: { type: 'string', minLength: 1, maxLength: MAX_TOKEN_LENGTH },
  password: PASSWORD,
  newPassword: PASSWORD,
}

/** Returns the schemas of a method; `undefined` if accounts have no method of this name. */
export function toAccountSchemas(method: string): MethodSchemas | undefined {
  if (!Object.hasOwn(FIELDS, method)) return undefined
  const required = FIELDS[method as AccountMethod]
  const properties = Object.fromEntries(required.map((name) => [name, SCHEMAS[name]]))
  const closed = { type: 'object', additionalProperties: false }
  return { data: { ...closed, required, properties }, query: closed, result: closed }
}

const CHECKS: Readonly<Record<Field, (value: unknown) => void>> = {
  email: (value) => checkString('email', value, MAX_EMAIL_LENGTH),
  token: (value) => checkString('token', value, MAX_TOKEN_LENGTH),
  password: checkPassword,
  newPassword: checkPassword,
}

/**
 * Returns the fields of a method from the data of a call, as non-empty strings.
 * @throws {BadRequest} a field is missing, unknown, too long or not a string, or there is a query
 */
export function readAccountData<Method extends AccountMethod>(
  data: unknown,
  { query }: Params,
  method: Method,
): Readonly<Record<(typeof FIELDS)[Method][number], string>> {
  const names: readonly Field[] = FIELDS[method]
  if (!isPlainObject(data)) throw new InvalidAccountCall('The data must be an object')
  const [parameter] = Object.keys(query ?? {})
  if (parameter !== undefined)
    throw new InvalidAccountCall(`Unknown query parameter '${parameter}'`)
  const given = Object.keys(data).filter((name) => data[name] !== undefined)
  const unknown = given.find((name) => !names.some((known) => known === name))
  if (unknown !== undefined) throw new InvalidAccountCall(`Unknown field '${unknown}'`)
  for (const name of names) CHECKS[name](data[name])
  return data as Record<Field, string>
}

function checkString(name: string, value: unknown, maxLength: number): void {
  if (isKeyString(value) && value.length <= maxLength) return
  throw new InvalidAccountCall(`'${name}' must be a string of 1 to ${maxLength} characters`)
}

/**
 * A part of an address. It excludes invisible characters, and those that could add a second address to the header of an
 * email. Libraries that encode domains read the ideographic full stop as a dot.
 */
const PART = String.raw`[^\s\p{C}\p{Default_Ignorable_Code_Point}@<>(),;:"[\]\\\u3002]+`
const ADDRESS = new RegExp(`^${PART}@${PART}$`, 'u')

/**
 * The beginning of an encoded word. Libraries that decode headers turn it into any text, such as another address.
 * @see RFC 2047 §5, which allows none in an address
 */
const ENCODED_WORD = '=?'

/**
 * Returns whether a string is one email address that libraries cannot change by normalizing or decoding: they turn `＠`
 * and `=?utf-8?q?=40?=` into `@`, and other compatibility characters into letters, which may name another mailbox.
 */
export function isAddress(email: string): boolean {
  return (
    email === email.normalize('NFKC') &&
    !email.includes(ENCODED_WORD) &&
    [email, email.normalize('NFD')].every((form) => ADDRESS.test(form))
  )
}

/** @throws {BadRequest} no email can be sent to the address */
export function checkAddress(email: string): void {
  if (isAddress(email)) return
  throw new InvalidAccountCall(
    "'email' must be one email address, without blanks, quotes, brackets, '=?', invisible or compatibility characters",
  )
}
