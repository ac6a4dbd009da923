import { createHmac } from 'node:crypto'
import type { Query } from '../../core/index.ts'
import type { Entity } from '../entity-service.ts'
import { getField } from '../entity-service.ts'
import type { LoginFields } from '../login-fields.ts'
import { nameHash } from '../passwords/passwords.ts'
import type { TokenKeys } from './refresh-token.ts'

/**
 * The marks that a session stores of its user: a code, by {@link StateField.key}, for each field whose change ends the
 * session.
 */
export type UserMarks = Readonly<Record<string, string>>

/** A field of a user whose change ends sessions. */
interface StateField {
  readonly name: string
  /** The key of its code in sessions. The name itself may contain dots, which keys in MongoDB paths cannot. */
  readonly key: string
  /** Whether the record has the field. */
  readonly isKnown: boolean
  /** The code, then others for the same state: by earlier keys, or of the hash that the stored one has replaced. */
  readonly codes: readonly string[]
}

/** The state of a user that sessions depend on: passwords, user names, and whether the user is disabled. */
export class UserState {
  readonly #fields: readonly StateField[]
  readonly #isBarred: boolean

  /**
   * @param record as it is stored; `null` without an `entity`
   * @param keys the first creates the codes of {@link marks}; codes by the others are accepted
   */
  constructor({ passwords, names }: LoginFields, record: Entity | null, keys: TokenKeys) {
    const isActive = record?.[ACTIVE]
    // A user without the field is not disabled.
    this.#isBarred = isActive !== undefined && !isActive
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

  /** The marks that a session of this user stores. */
  get marks(): UserMarks {
    return toMarks(this.#fields)
  }

  /** The marks of the fields that the record has: strategies may record only part of it. */
  get knownMarks(): UserMarks {
    return toMarks(this.#fields.filter(({ isKnown }) => isKnown))
  }

  /** Returns the `$set` that gives a session these marks, including that of `isActive` only if asked for. */
  toChange(withActive: boolean): Readonly<Record<string, string>> {
    const fields = this.#fields.filter(({ name }) => withActive || name !== ACTIVE)
    return toMarks(fields.map((field) => ({ ...field, key: `marks.${field.key}` })))
  }

  /** The query for sessions in this state. */
  get query(): Query {
    return Object.fromEntries(this.#conditions.map(([path, codes]) => [path, { $in: codes }]))
  }

  /** The query for sessions in any other state. */
  get outdatedQuery(): Query {
    const others = this.#conditions.map(([path, codes]) => ({ [path]: { $nin: codes } }))
    return others.length > 0 ? { $or: others } : { _id: { $in: [] } }
  }

  /** The marks that sessions in this state may have, by their paths. */
  get #conditions(): [path: string, codes: readonly (string | null)[]][] {
    return this.#fields.flatMap((field) => {
      const codes = this.#accepts(field)
      return codes === null ? [] : [[`marks.${field.key}`, codes]]
    })
  }

  /** Returns the name of the first field that has changed since marks were stored; `null` if none has. */
  findChange(marks: UserMarks = {}): string | null {
    const changed = this.#fields.find((field) => {
      const accepted = this.#accepts(field)
      return accepted !== null && !accepted.includes(marks[field.key] ?? null)
    })
    return changed?.name ?? null
  }

  /** Returns the codes that a session may have for a field, `null` if any code is accepted. */
  #accepts({ name, codes }: StateField): readonly (string | null)[] | null {
    // A session without this mark, from an earlier version or from before the field existed, gets it at the next
    // refresh.
    if (name !== ACTIVE) return [...codes, null]
    // Sessions of a disabled user continue only if they started while the user was disabled.
    return this.#isBarred ? codes : null
  }
}

/** The field that disables users. */
const ACTIVE = 'isActive'

function toMarks(fields: readonly StateField[]): UserMarks {
  return Object.fromEntries(fields.map(({ key, codes: [code = ''] }) => [key, code]))
}

/**
 * Returns the code of a text. The same keys create the codes of refresh tokens, whose texts never start with `mark `.
 */
function createCode(text: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(`mark ${text}`).digest('base64url').slice(0, CODE_LENGTH)
}

const CODE_LENGTH = 22
