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

/** @throws {Error} the settings are not valid; names each place, and none of the values */
async function check(settings: Record<string, unknown>, checker: Checker): Promise<object> {
  let returned: unknown
  try {
    returned = await checker.validate(settings)
  } catch (error) {
    throw new Error(`The configuration is not valid: ${describe(error)}`, { cause: error })
  }
  if (returned === false) {
    throw new Error(`The configuration is not valid: ${describe(checker.validate)}`)
  }
  return typeof returned === 'object' && returned !== null ? returned : settings
}

/**
 * A function of Ajv keeps what it found in `errors`, and so does what an asynchronous one throws; a
 * `BadRequest` has it as `data`.
 */
function describe(source: unknown): string {
  const { errors, data, message } = (source ?? {}) as Record<string, unknown>
  const findings = [errors, data].find((list) => Array.isArray(list) && list.length > 0)
  if (findings !== undefined) return (findings as Finding[]).map(describeFinding).join(', ')
  return typeof message === 'string' ? message : 'the check refused it'
}

function describeFinding({ instancePath = '', message = 'is not valid' }: Finding): string {
  return `${instancePath} ${message}`.trim()
}
