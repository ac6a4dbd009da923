import { createHmac } from 'node:crypto'
import type { Query } from '../../core/index.ts'
import type { Entity } from '../entity-service.ts'
import { getField } from '../entity-service.ts'
import type { LoginFields } from '../login-fields.ts'
import { nameHash } from '../passwords/password-hash.ts'
import type { TokenKeys } from './refresh-token.ts'

/** What a session stores of its user: a code for each field whose change ends the session, by {@link StateField.key}. */
export type UserMarks = Readonly<Record<string, string>>

/** A field of a user that sessions depend on. */
interface StateField {
  readonly name: string
  /** The key of its code in sessions: the name itself may have dots, which paths of MongoDB cannot contain. */
  readonly key: string
  /** Whether the record has the field. */
  readonly isKnown: boolean
  /** The code, then others for the same state: by earlier keys, or of the hash that the stored one has replaced. */
  readonly codes: readonly string[]
}

/** The state of a user that sessions depend on: passwords, user names, and whether the user is barred. */
export class UserState {
  readonly #fields: readonly StateField[]
  readonly #isBarred: boolean

  /**
   * @param record as it is stored; `null` without an `entity`
   * @param keys the first makes the codes of {@link marks}; codes by the others are accepted
   */
  constructor({ passwords, names }: LoginFields, record: Entity | null, keys: TokenKeys) {
    this.#isBarred = isBarred(record)
    const toField = (name: string, value: unknown, texts: readonly string[]): StateField => ({
      ...{ name, key: Buffer.from(name).toString('base64url'), isKnown: value !== undefined },
      codes: keys.flatMap((key) => texts.map((text) => createCode(`${name} ${text}`, key))),
    })
    this.#fields =
      record === null
        ? []
        : [
            ...passwords.map((name) => {
              const value = getField(record, name)
              return toField(name, value, nameHash(value))
            }),
            ...names.map((name) => {
              const value = getField(record, name)
              return toField(name, value, [`${typeof value} ${String(value)}`])
            }),
            toField(ACTIVE, true, [String(!this.#isBarred)]),
          ]
  }

  /** What a session of this user stores. */
  get marks(): UserMarks {
    return toMarks(this.#fields)
  }

  /** The marks of the fields that the record has: strategies may note only a part of it. */
  get knownMarks(): UserMarks {
    return toMarks(this.#fields.filter(({ isKnown }) => isKnown))
  }

  /** Returns the `$set` that gives a session these marks, that of `isActive` only if asked for. */
  toChange(withActive: boolean): Readonly<Record<string, string>> {
    const fields = this.#fields.filter(({ name }) => withActive || name !== ACTIVE)
    return toMarks(fields.map((field) => ({ ...field, key: `marks.${field.key}` })))
  }

  /** The query for sessions of this state. */
  get query(): Query {
    return Object.fromEntries(this.#conditions.map(([path, codes]) => [path, { $in: codes }]))
  }

  /** The query for sessions of any other state. */
  get outdatedQuery(): Query {
    const others = this.#conditions.map(([path, codes]) => ({ [path]: { $nin: codes } }))
    return others.length > 0 ? { $or: others } : { _id: { $in: [] } }
  }

  /** What the marks of sessions of this state may be, by their paths. */
  get #conditions(): [path: string, codes: readonly (string | null)[]][] {
    return this.#fields.flatMap((field) => {
      const codes = this.#accepts(field)
      return codes === null ? [] : [[`marks.${field.key}`, codes]]
    })
  }

  /** Returns the name of the first field that has changed since marks were stored; `null` for none. */
  findChange(marks: UserMarks = {}): string | null {
    const changed = this.#fields.find((field) => {
      const accepted = this.#accepts(field)
      return accepted !== null && !accepted.includes(marks[field.key] ?? null)
    })
    return changed?.name ?? null
  }

  /** Returns the codes that a session may have for a field, `null` if any code will do. */
  #accepts({ name, codes }: StateField): readonly (string | null)[] | null {
    // A session without this mark, of an earlier version or before the field existed, gets it at the next refresh.
    if (name !== ACTIVE) return [...codes, null]
    // Sessions of a barred user go on only if they began while the user was barred.
    return this.#isBarred ? codes : null
  }
}

/** The field by which users are barred. */
const ACTIVE = 'isActive'

/** Whether a user is barred. A user without the field is not. */
function isBarred(record: Entity | null): boolean {
  const isActive = record?.[ACTIVE]
  return isActive !== undefined && !isActive
}

function toMarks(fields: readonly StateField[]): UserMarks {
  return Object.fromEntries(fields.map(({ key, codes: [code = ''] }) => [key, code]))
}

/** Returns the code of a text. The same keys make codes of refresh tokens, whose texts never begin with `mark `. */
function createCode(text: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(`mark ${text}`).digest('base64url').slice(0, CODE_LENGTH)
}

const CODE_LENGTH = 22
