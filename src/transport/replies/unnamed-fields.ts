import { isDeveloping } from '../../core/errors/hint.ts'
import type { MethodEntry } from '../../core/index.ts'
import { findFieldSchema, findForm } from './listed-fields.ts'
import type { SerializableSchema } from './serializable-schema.ts'

/** Who adds more fields than these has understood. */
const MAX_TOLD = 20

/** How many records of a method are looked at: what hooks add, they add to the first ones. */
const MAX_RECORDS = 1_000

/** Tells, while developing, of fields that answers lack because no schema names them: of each once. */
export class UnnamedFields {
  readonly #method: MethodEntry
  readonly #schemas: readonly SerializableSchema[]
  readonly #names = new Set<string>()
  #told = 0
  #records = 0

  private constructor(method: MethodEntry, schemas: readonly SerializableSchema[]) {
    this.#method = method
    this.#schemas = schemas
  }

  /**
   * Returns what tells of the fields of one method, `null` in production.
   * @param schemas those that may name a field: one that only the first lacks is left out on purpose
   */
  static of(method: MethodEntry, schemas: readonly SerializableSchema[]): UnnamedFields | null {
    return isDeveloping() ? new UnnamedFields(method, schemas) : null
  }

  /** Looks at the fields of a record that is sent. */
  lookAt(record: Readonly<Record<string, unknown>>): void {
    if (this.#records >= MAX_RECORDS) return
    this.#records += 1
    const names = this.#names
    for (const name in record) {
      if (names.has(name)) continue
      const value = record[name]
      if (value === undefined || typeof value === 'function') continue
      names.add(name)
      if (!this.#isNamed(name, record)) this.#tell(name)
    }
  }

  /** Looks at a field that a page has beside its own. */
  tellOfPage(name: string, value: unknown): void {
    const key = `page.${name}`
    if (value === undefined || this.#names.has(key)) return
    this.#names.add(key)
    this.#tell(name)
  }

  #isNamed(name: string, record: object): boolean {
    return this.#schemas.some((schema) => {
      const form = findForm(record, schema)
      return form.type !== 'object' || findFieldSchema(name, form) !== undefined
    })
  }

  #tell(field: string): void {
    this.#told += 1
    if (this.#told > MAX_TOLD) return
    const { entry, name } = this.#method
    entry.app.logger.warn(
      { service: entry.path, method: name, field },
      `The field '${field}' of results of '${name}' is not sent: no schema of service '${entry.path}' names it`,
    )
  }
}
