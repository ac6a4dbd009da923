import type { LifecycleHook, Logger } from '../../core/index.ts'

/** What is needed of an application: its settings and its setup. */
export interface WithSettings {
  readonly logger: Logger
  get(name: string): unknown
  set(name: string, value: unknown): unknown
  hooks(options: { setup: LifecycleHook }): unknown
}

/** Checks settings: throws, rejects or returns `false`, or returns the settings to use. */
export type ConfigurationValidator = (settings: Record<string, unknown>) => unknown

/** An object with the check, an instance of `schema()` of @feathersjs/schema for example. */
interface Checker {
  validate(settings: Record<string, unknown>): unknown
}

/** What Ajv says of a value that does not fit. */
interface Finding {
  readonly instancePath?: string
  readonly schemaPath?: string
  readonly keyword?: string
  readonly params?: unknown
  readonly message?: string
}

/**
 * Has the settings from the files checked before the services are set up. What the check changes,
 * defaults and converted types for example, is written back, unless the application has set another
 * value meanwhile.
 */
export function addConfigurationCheck(
  app: WithSettings,
  settings: Record<string, unknown>,
  checker: Checker,
): void {
  app.hooks({
    setup: async (_context, next) => {
      const checked = await check({ ...settings }, checker)
      for (const [name, value] of Object.entries(checked)) {
        if (app.get(name) === settings[name]) app.set(name, value)
      }
      await next()
    },
  })
}

/**
 * @throws {Error} the settings are not valid; its message names each place, its `data` has what Ajv
 *   found there or what the check threw as data, and neither has values of the settings
 */
async function check(settings: Record<string, unknown>, checker: Checker): Promise<object> {
  let returned: unknown
  try {
    returned = await checker.validate(settings)
  } catch (error) {
    throw createError(error, { cause: error })
  }
  if (returned === false) throw createError(checker.validate)
  return typeof returned === 'object' && returned !== null ? returned : settings
}

/**
 * A function of Ajv keeps what it found in `errors`, and so does what an asynchronous one throws; a
 * `BadRequest` has it as `data`.
 */
function createError(source: unknown, options?: ErrorOptions): Error {
  const { errors, data, message } = (source ?? {}) as Record<string, unknown>
  const findings = [errors, data].find(isFindings)?.map(toFinding)
  const text = typeof message === 'string' ? message : 'the check refused it'
  const problem = findings?.map(describeFinding).join(', ') ?? text
  const error = new Error(`The configuration is not valid: ${problem}`, options)
  const told = findings ?? data
  return told === undefined ? error : Object.assign(error, { data: told })
}

function isFindings(list: unknown): list is Finding[] {
  return Array.isArray(list) && list.length > 0
}

/** With the option `verbose` Ajv notes the values, too: secrets perhaps. */
function toFinding({ instancePath, schemaPath, keyword, params, message }: Finding): Finding {
  const all = { instancePath, schemaPath, keyword, params, message }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function describeFinding({ instancePath = '', message = 'is not valid' }: Finding): string {
  return `${instancePath} ${message}`.trim()
}
